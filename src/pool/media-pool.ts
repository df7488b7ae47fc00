import type { MediaJob, MediaResults } from './protocol.js';

/** Lower is sooner. A viewer's waiting segment always goes before background work. */
export const mediaPriority = { viewer: 0, readAhead: 1, warmUp: 2, background: 3, speech: 4 } as const;
export type MediaPriority = (typeof mediaPriority)[keyof typeof mediaPriority];

export interface RunOptions {
  readonly priority: MediaPriority;
  /** Abort ends the wait at once; the process is killed when it already works on the job. */
  readonly signal?: AbortSignal;
  /** Wall clock from the moment the job starts, without the time it is paused; a default per kind when absent. */
  readonly deadlineMs?: number;
  /** A process of its own that has never seen another source and is not reused: for probing and for second tries. */
  readonly fresh?: boolean;
  /** 0 to 1 */
  readonly onProgress?: (fraction: number) => void;
}

/** The parent's side of the media processes. Less urgent work is paused, not lost, while more urgent work needs a place. */
export interface MediaPool {
  /**
   * @throws KinoraError `invalid_input` (not media, or reading it takes more CPU time than its size can explain), `media_failed` (clean FFmpeg error), `media_crashed` (process died or
   * deadline passed; retried once alone in a fresh process before it is thrown), `unavailable` (no process could be started,
   * the source is not to blame; or too many viewers wait already), `cancelled`
   */
  run<J extends MediaJob>(job: J, options: RunOptions): Promise<MediaResults[J['kind']]>;
  /** Raises a queued job's priority: a viewer now waits for what was read-ahead. `job` is the object given to `run`. */
  promote(job: MediaJob, priority: MediaPriority): void;
  /** Resolves while a media process is there, or once a new one is; rejects when none can be started. */
  check(): Promise<void>;
  /** Which isolation the processes run in, for the log and `doctor`. */
  readonly sandbox: string;
  /** How to get a stronger one; absent when this is the strongest. */
  readonly sandboxAdvice?: string;
  stop(): Promise<void>;
}
