import type { Transaction } from '../db/database.js';

/** A unit of background work; delivered at least once, so handlers must be idempotent. */
export interface Job<P = unknown> {
  readonly id: string;
  readonly queue: string;
  readonly payload: P;
  /** 1 on the first run. */
  readonly attempt: number;
  readonly maxAttempts: number;
}

/** A queue by its name, which is stored, and what its jobs carry. */
export interface JobQueue<P> {
  readonly name: string;
  /** While a job with the same key is queued or active, a second one is not made; the ID of the first is returned. */
  readonly keyOf?: (payload: P) => string;
}

export interface EnqueueOptions {
  /** Makes a job even while one with the same key is queued or active. */
  again?: boolean;
  /** Higher runs first. */
  priority?: number;
  runAt?: Date;
  /** Runs that may end with a defect; 5 when absent. */
  maxAttempts?: number;
}

export interface Queue {
  /** Visible to runners when `tx` commits; without `tx` at once. Returns the job's id. */
  enqueue<P>(queue: JobQueue<P>, payload: P, options?: EnqueueOptions, tx?: Transaction): Promise<string>;
  /** Queued jobs end at once; an active one gets its `signal` aborted within a second. */
  cancel(queue: JobQueue<never>, key: string, tx?: Transaction): Promise<void>;
}

export interface JobContext {
  /** Aborts on cancel, on lost lease and on shutdown; `signal.reason` tells which. */
  readonly signal: AbortSignal;
}

export type JobHandler<P = never> = (job: Job<P>, context: JobContext) => Promise<void>;

/**
 * What becomes of a failed run: `KinoraError.failure` decides. `defect` is retried with backoff until `maxAttempts`,
 * `retry` for hours, a run whose worker was lost twenty times, each counted apart; `fail` ends at once. `onFailed` runs after the last try, so that no resource stays "preparing" forever.
 */
export interface QueueWorker {
  readonly queue: JobQueue<never>;
  readonly concurrency: number;
  readonly handler: JobHandler;
  readonly onFailed?: (job: Job<never>, error: unknown) => Promise<void>;
}
