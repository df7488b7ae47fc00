import type { RecordingTime } from '../db/schema.js';

/** Later sessions are told as a part of the last one: each is in every response. */
const MAX_TIMES = 1000;

const rounded = (seconds: number): number => Math.round(Math.max(0, seconds) * 1000) / 1000;

/** When the sessions of a broadcast began and how long they are: `recording_times` of its asset. */
export class SessionTimes {
  readonly #times: RecordingTime[];
  /** Seconds of the recording at the start of the last session. */
  #startSeconds = 0;

  /** @param saved those of earlier processes */
  constructor(saved: readonly RecordingTime[] = []) {
    this.#times = [...saved];
  }

  get all(): readonly RecordingTime[] {
    return this.#times;
  }

  /** Without a slate at the end, which is no part of the asset. */
  get content(): readonly RecordingTime[] {
    return this.#times.slice(0, this.#times.findLastIndex(({ type }) => type === 'content') + 1);
  }

  /** Of `content`. */
  get totalSeconds(): number {
    return this.#sum(this.content);
  }

  /**
   * A slate that follows a slate continues it.
   * @param recordedSeconds what is recorded so far
   */
  begin(type: RecordingTime['type'], startedAt: Date, recordedSeconds: number): void {
    const last = this.#times.at(-1);
    const isContinued = type === 'slate' && last?.type === 'slate';
    if (this.#times.length < MAX_TIMES && !isContinued) {
      this.#startSeconds = recordedSeconds;
      this.#times.push({ started_at: startedAt.toISOString(), type });
    } else this.#startSeconds = recordedSeconds - (this.#times.at(-1)?.duration ?? 0);
  }

  /**
   * @param startedMs wall clock of the first frame, by which clips find the same frames as while
   * they were on air
   */
  end(recordedSeconds: number, startedMs?: number): void {
    this.#setStart(startedMs);
    this.#setLast(recordedSeconds - this.#startSeconds);
  }

  /** The same for a session that was interrupted before its duration was saved. */
  endInterrupted(recordedSeconds: number, startedMs?: number): void {
    this.#setStart(startedMs);
    this.#setLast(recordedSeconds - this.#sum(this.#times.slice(0, -1)));
  }

  #setStart(startedMs: number | undefined): void {
    const last = this.#times.at(-1);
    if (last && last.duration === undefined && startedMs !== undefined)
      this.#times[this.#times.length - 1] = { ...last, started_at: new Date(startedMs).toISOString() };
  }

  #setLast(seconds: number): void {
    const last = this.#times.at(-1);
    if (last) this.#times[this.#times.length - 1] = { ...last, duration: rounded(seconds) };
  }

  #sum(times: readonly RecordingTime[]): number {
    return times.reduce((sum, { duration = 0 }) => sum + duration, 0);
  }
}
