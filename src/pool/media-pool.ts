import type { MediaJob, MediaResults } from './protocol.js';

/** Lower values run first. A segment that a viewer waits for always precedes background work. */
/** `nextSegment`: what a player will request soon. It waits for what makes assets ready. */
export const mediaPriority = { viewer: 0, readAhead: 1, warmUp: 2, nextSegment: 3, background: 4, speech: 5 } as const;
export type MediaPriority = (typeof mediaPriority)[keyof typeof mediaPriority];

export interface RunOptions {
  readonly priority: MediaPriority;
  /** Abort ends the wait immediately; the process is killed if it already works on the job. */
  readonly signal?: AbortSignal;
  /** Wall-clock limit from the start of the job, without the time it is paused; the default depends on the kind and the priority. */
  readonly deadlineMs?: number;
  /**
   * Use a separate process that has never seen another source and is not reused, for probing and for second tries.
   */
  readonly fresh?: boolean;
  /** 0 to 1 */
  readonly onProgress?: (fraction: number) => void;
}

/**
 * The parent's side of the media processes. When more urgent work needs a slot, less urgent work is paused and
 * continues later; one job of an ingest always goes on.
 */
export interface MediaPool {
  /**
   * @throws KinoraError `invalid_input` (not media, or reading it takes more CPU time than its size can explain),
   * `media_failed` (FFmpeg reported an error), `media_crashed` (the process died or the deadline passed; retried once
   * alone in a new process before it is thrown), `unavailable` (no process could be started, which is not the
   * source's fault; or too many viewers already wait), `cancelled`
   */
  run<J extends MediaJob>(job: J, options: RunOptions): Promise<MediaResults[J['kind']]>;
  /** Starts the processes that the ingest of a file needs next, unless enough of them wait. */
  prepare(): void;
  /**
   * Raises a queued job's priority when a viewer waits for a segment that was read ahead. `job` is the object passed
   * to `run`.
   */
  promote(job: MediaJob, priority: MediaPriority): void;
  /** Resolves when a media process exists or a new one has started; rejects when none can be started. */
  check(): Promise<void>;
  /** The isolation of the processes, for the log and `doctor`. */
  readonly sandbox: string;
  /** How to get stronger isolation; absent when this is the strongest. */
  readonly sandboxAdvice?: string;
  stop(): Promise<void>;
}
