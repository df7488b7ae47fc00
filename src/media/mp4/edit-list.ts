export interface Edit {
  /** In ticks of the track. */
  readonly durationTicks: number;
  /** -1 for an empty edit. */
  readonly mediaTime: number;
  readonly rate: number;
}

/** Times in decode order, in ticks of the track. */
export interface SampleTimes {
  readonly composition: Float64Array;
  readonly duration: Float64Array;
}

export interface EditedTimes {
  /** Number of samples that are kept, counted from the first. */
  readonly count: number;
  readonly pts: Float64Array;
  /** Duration of the sample displayed last; at least 1. */
  readonly lastDuration: number;
}

/**
 * Presentation times as FFmpeg's demuxer reports them after edit lists: empty edits delay the
 * track, and the first frame is displayed at the end of the delay. Audio before the edit keeps
 * negative times (priming); audio after is dropped. Undefined unless the list is empty edits
 * followed by one edit at normal speed that displays every frame.
 */
export const applyEditList = (
  { composition, duration }: SampleTimes,
  edits: readonly Edit[],
  handler: 'vide' | 'soun',
  timescale: number,
): EditedTimes | undefined => {
  const finish = (count: number, shift: number): EditedTimes => {
    const pts = composition.slice(0, count);
    let last = 0;
    for (let sample = 0; sample < count; sample += 1) {
      pts[sample]! -= shift;
      if (pts[sample]! >= pts[last]!) last = sample;
    }
    return { count, pts, lastDuration: Math.max(duration[last]!, 1) };
  };
  if (edits.length === 0) return finish(composition.length, 0);
  const edit = edits.at(-1)!;
  const empty = edits.slice(0, -1);
  const simple =
    empty.every(({ mediaTime }) => mediaTime === -1) &&
    edit.mediaTime >= 0 &&
    edit.rate === 1 &&
    edit.durationTicks > 0;
  if (!simple) return undefined;
  const delay = empty.reduce((sum, { durationTicks }) => sum + durationTicks, 0);
  const end = edit.mediaTime + edit.durationTicks;
  if (handler === 'vide') {
    let earliest = Number.POSITIVE_INFINITY;
    for (const time of composition) {
      if (time < edit.mediaTime || time >= end) return undefined;
      earliest = Math.min(earliest, time);
    }
    return finish(composition.length, earliest - delay);
  }
  // FFmpeg starts at most a second before the edit.
  if (edit.mediaTime > timescale) return undefined;
  const last = composition.findIndex((time, sample) => time + duration[sample]! >= end);
  return finish(last === -1 ? composition.length : last + 1, edit.mediaTime - delay);
};
