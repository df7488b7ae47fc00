import type { Transaction } from '../db/database.js';

/** A unit of background work. It is delivered at least once, so handlers must be idempotent. */
export interface Job<P = unknown> {
  readonly id: string;
  readonly queue: string;
  readonly payload: P;
  /** 1 on the first run. */
  readonly attempt: number;
  readonly maxAttempts: number;
}

/** A queue: its stored name and the payload of its jobs. */
export interface JobQueue<P> {
  readonly name: string;
  /**
   * While a job with the same key is queued or active, no second one is created; the ID of the
   * first is returned.
   */
  readonly keyOf?: (payload: P) => string;
}

export interface EnqueueOptions {
  /** Create a job even while one with the same key is queued or active. */
  again?: boolean;
  /** Higher runs first. */
  priority?: number;
  runAt?: Date;
  /** The number of runs that may end with a defect; 5 by default. */
  maxAttempts?: number;
}

/** A contract: the domain enqueues without knowing the table or the runner. */
export interface Queue {
  /**
   * The job becomes visible to runners when `tx` commits, or immediately without `tx`. Returns the
   * job's ID.
   */
  enqueue<P>(queue: JobQueue<P>, payload: P, options?: EnqueueOptions, tx?: Transaction): Promise<string>;
  /** Ends queued jobs immediately; aborts the `signal` of an active one within a second. */
  cancel(queue: JobQueue<never>, key: string, tx?: Transaction): Promise<void>;
}

export interface JobContext {
  /** Aborts on cancellation, on a lost lease and on shutdown; `signal.reason` says which. */
  readonly signal: AbortSignal;
}

export type JobHandler<P = never> = (job: Job<P>, context: JobContext) => Promise<void>;

/**
 * `KinoraError.failure` decides what happens after a failed run. `defect` is retried with backoff
 * until `maxAttempts`; `retry` is retried for hours; a run whose worker was lost is retried up to
 * twenty times. Each is counted separately. `fail` ends the job immediately. `onFailed` runs after
 * the last try, so that no resource stays "preparing" forever, and logs the reason.
 */
export interface QueueWorker {
  readonly queue: JobQueue<never>;
  readonly concurrency: number;
  readonly handler: JobHandler;
  readonly onFailed?: (job: Job<never>, error: unknown) => Promise<void>;
}
