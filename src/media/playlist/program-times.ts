/** A part of a recording that was recorded without a break. */
export interface RecordedSession {
  /** Wall clock of its first frame, in seconds since 1970. */
  readonly startedAtSeconds: number;
  readonly durationSeconds: number;
}

/**
 * Where a recording is at a time of the wall clock, in seconds since its start. Nothing was
 * recorded between two sessions: that time is where the second one begins. A slate may end after
 * the session that follows has begun, because its segments are whole: the later session counts.
 */
export const recordedAt = (sessions: readonly RecordedSession[], programSeconds: number): number => {
  let seconds = 0;
  let sessionSeconds = 0;
  for (const { startedAtSeconds, durationSeconds } of sessions) {
    if (programSeconds < startedAtSeconds) break;
    seconds = sessionSeconds + Math.min(programSeconds - startedAtSeconds, durationSeconds);
    sessionSeconds += durationSeconds;
  }
  return seconds;
};
