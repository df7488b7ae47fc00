import { setTimeout as delay } from 'node:timers/promises';
import type { Queryable } from '../db/database.js';
import { finishJob, type JobRow, markJobFailing, releaseJob, retryJob } from '../db/tables/server/job.js';
import { CANCELLED, SHUTDOWN } from '../lib/abort.js';
import { backoffMs } from '../lib/backoff.js';
import type { Clock } from '../lib/clock.js';
import { type FailureClass, isKinoraError } from '../lib/errors.js';
import { isUnavailable } from '../lib/unavailable.js';
import type { Logger } from '../telemetry/logger.js';
import type { Metrics } from '../telemetry/metrics.js';
import { fromJobError, toJobError } from './job-error.js';
import type { Job, QueueWorker } from './queue.js';

const RETRY_BACKOFF = { baseMs: 2_000, maxMs: 5 * 60_000 };
/**
 * More than two hours with the backoff above, so that the operator can free space or restart the
 * database.
 */
const MAX_RETRIES = 40;
const STORE_BACKOFF = { baseMs: 100, maxMs: 2_000 };
/**
 * The work that records a failure is retried without end, because no resource may stay "preparing"
 * forever.
 */
const FAILING_BACKOFF = { baseMs: 30_000, maxMs: 30_000 };

/** One attempt of one job in this process. */
export interface Run {
  readonly worker: QueueWorker;
  readonly row: JobRow;
  readonly leaseId: string;
  readonly controller: AbortController;
  readonly logger: Logger;
  /** The monotonic time until which no other worker can have taken the job: the run ends then. */
  leaseEndsMs: number;
  settled: Promise<void>;
}

export interface ExecutorOptions {
  readonly db: Queryable;
  readonly clock: Clock;
  readonly metrics?: Metrics | undefined;
  /** Whether the process is about to end: then nothing is retried. */
  readonly isStopped: () => boolean;
}

const failureOf = (error: unknown): FailureClass => {
  if (isKinoraError(error)) return error.failure;
  return isUnavailable(error) ? 'retry' : 'defect';
};

/** Runs the handlers of jobs and stores their outcomes. */
export class Executor {
  readonly #options: ExecutorOptions;

  constructor(options: ExecutorOptions) {
    this.#options = options;
  }

  async execute(run: Run): Promise<void> {
    const { row, worker } = run;
    const job = {
      id: row.id,
      queue: row.queue,
      payload: row.payload as never,
      attempt: row.attempt,
      maxAttempts: row.max_attempts,
    };
    if (row.failing) return this.#fail(run, job, fromJobError(row.error));
    try {
      await worker.handler(job, { signal: run.controller.signal });
    } catch (error) {
      return this.#handleError(run, job, error);
    }
    await this.#finish(run, 'done');
  }

  async #handleError(run: Run, job: Job<never>, error: unknown): Promise<void> {
    if (run.controller.signal.aborted) return this.#interrupt(run, error);
    const failure = failureOf(error);
    const stored = toJobError(error);
    const isRetry = failure === 'retry';
    const { attempt, retries, losses } = run.row;
    const tries = isRetry ? retries + 1 : attempt - retries - losses;
    const { db } = this.#options;
    if (failure !== 'fail' && tries < (isRetry ? MAX_RETRIES : job.maxAttempts)) {
      run.logger[failure === 'defect' ? 'error' : 'warn']({ err: error }, 'job failed, retrying');
      const runAt = this.#after(backoffMs(tries, RETRY_BACKOFF));
      const isStored = await this.#store(run, () => retryJob(db, run.leaseId, { runAt, error: stored, isRetry }));
      if (isStored) this.#count(run, 'retried');
      return;
    }
    // `onFailed` logs the reason of a failure that was to be expected.
    if (failure !== 'fail' || !run.worker.onFailed)
      run.logger[failure === 'fail' ? 'info' : 'error']({ err: error }, 'The job failed');
    // Stored first, so that if the process dies now, the job is still known to have failed.
    if (await this.#store(run, () => markJobFailing(db, run.leaseId, stored))) await this.#fail(run, job, error);
  }

  async #interrupt(run: Run, error: unknown): Promise<void> {
    const { reason } = run.controller.signal;
    run.logger.info({ err: error, reason: String(reason) }, 'job interrupted');
    if (reason === SHUTDOWN) await this.#store(run, () => releaseJob(this.#options.db, run.leaseId));
    if (reason === CANCELLED) await this.#finish(run, 'cancelled');
  }

  async #fail(run: Run, job: Job<never>, error: unknown): Promise<void> {
    try {
      await run.worker.onFailed?.(job, error);
    } catch (failure) {
      run.logger.error({ err: failure }, 'failure handler failed, retrying');
      const runAt = this.#after(backoffMs(1, FAILING_BACKOFF));
      await this.#store(run, () => retryJob(this.#options.db, run.leaseId, { runAt }));
      return;
    }
    await this.#finish(run, 'failed');
  }

  async #finish(run: Run, end: 'done' | 'failed' | 'cancelled'): Promise<void> {
    if (await this.#store(run, () => finishJob(this.#options.db, run.leaseId, end))) this.#count(run, end);
  }

  /**
   * Writes a run's outcome. An unavailable database must not cost an hour of work, so this is
   * retried until the lease ends. False when another worker has the job.
   */
  async #store(run: Run, change: () => Promise<boolean>): Promise<boolean> {
    const { clock, isStopped } = this.#options;
    for (let attempt = 1; ; attempt++) {
      try {
        const isHeld = await change();
        if (!isHeld) run.logger.warn({}, 'job taken over by another worker, result ignored');
        return isHeld;
      } catch (error) {
        if (isStopped() || clock.monotonicMs() > run.leaseEndsMs) throw error;
        run.logger.warn({ err: error }, 'job result not stored, retrying');
        await delay(backoffMs(attempt, STORE_BACKOFF));
      }
    }
  }

  #count(run: Run, end: 'done' | 'failed' | 'cancelled' | 'retried'): void {
    this.#options.metrics?.jobEnded(run.worker.queue.name, end);
  }

  #after(waitMs: number): Date {
    return new Date(this.#options.clock.now().getTime() + waitMs);
  }
}
