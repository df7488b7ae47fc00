import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../db/database.js';
import { deleteFinishedJobs, hasLiveJobs, JOB_CANCEL, JOB_READY, releaseJob } from '../db/tables/server/job.js';
import { CANCELLED, SHUTDOWN } from '../lib/abort.js';
import type { Clock } from '../lib/clock.js';
import type { Logger } from '../telemetry/logger.js';
import type { Metrics } from '../telemetry/metrics.js';
import { Claims } from './claims.js';
import { Executor, type Run } from './executor.js';
import { JobLeases } from './leases.js';
import type { QueueWorker } from './queue.js';

const DEFAULT_LEASE_MS = 30_000;
/** In the time of a lease. */
const LEASE_CHECKS = 30;
/**
 * Finds jobs that no notification announced: due retries, and jobs enqueued while the connection
 * was down.
 */
const POLL_MS = 2_000;
const DELETE_FINISHED_MS = 60 * 60_000;

interface RunnerOptions {
  readonly database: Database;
  readonly workers: readonly QueueWorker[];
  readonly logger: Logger;
  readonly clock: Clock;
  /** Names this process in the job table; different for every start. */
  readonly workerId: string;
  /**
   * A job whose worker does not renew its lease for this long goes to another; leases are renewed
   * three times as often.
   */
  readonly leaseMs?: number;
  /** No other process uses the database, so leases found at startup belong to a killed run. */
  readonly isAlone?: boolean;
  readonly metrics?: Metrics;
}

/** Runs the jobs of its workers' queues. */
export class Runner {
  readonly #options: RunnerOptions;
  readonly #claims: Claims;
  readonly #leases: JobLeases;
  readonly #leaseMs: number;
  readonly #timers: NodeJS.Timeout[] = [];
  #unlisten: readonly (() => Promise<void>)[] = [];
  #isStopped = false;

  constructor(options: RunnerOptions) {
    const { database, workers, logger, clock, metrics, workerId, leaseMs = DEFAULT_LEASE_MS } = options;
    const db = database.queryable;
    const executor = new Executor({ db, clock, metrics, isStopped: () => this.#isStopped });
    const execute = (run: Run) => executor.execute(run);
    this.#options = options;
    this.#claims = new Claims({ db, clock, logger, workers, workerId, leaseMs, execute });
    this.#leases = new JobLeases({ db, clock, logger, leaseMs, runs: this.#claims.runs });
    this.#leaseMs = leaseMs;
  }

  async start(): Promise<void> {
    const { database, isAlone } = this.#options;
    if (isAlone) await this.#leases.reapLost(true);
    this.#unlisten = [
      await database.listen(JOB_READY, (queue) => void this.#claims.claim(queue)),
      await database.listen(JOB_CANCEL, (jobId) => void this.#cancel(jobId)),
    ];
    this.#every(this.#leaseMs / 3, async () => {
      await this.#leases.renew();
      await this.#leases.reapLost();
    });
    const checkMs = this.#leaseMs / LEASE_CHECKS;
    this.#timers.push(setInterval(() => this.#leases.check(checkMs), checkMs));
    this.#every(POLL_MS, () => this.#claims.claimDue());
    this.#every(DELETE_FINISHED_MS, () => deleteFinishedJobs(database.queryable));
  }

  /** Waits until no job of the runner's queues is active or due. Delayed jobs don't count. */
  async drain(): Promise<void> {
    const { database, workers, clock } = this.#options;
    const queues = workers.map(({ queue }) => queue.name);
    const { runs } = this.#claims;
    for (;;) {
      await this.#claims.claimDue();
      if (runs.size > 0) await Promise.all([...runs].map(({ settled }) => settled));
      else if (await hasLiveJobs(database.queryable, queues, clock.now()))
        await delay(20); // another runner's job
      else return;
    }
  }

  /** Aborts running jobs and returns them to the queue; waits at most `limitMs`. */
  async stop(limitMs: number): Promise<void> {
    this.#claims.stop();
    for (const stop of this.#unlisten) await stop();
    await this.#interruptAll(limitMs);
    this.#isStopped = true;
    for (const timer of this.#timers) clearInterval(timer);
    for (const run of this.#claims.runs) {
      run.logger.warn({}, 'job did not stop in time, requeued while running');
      await releaseJob(this.#options.database.queryable, run.leaseId);
    }
  }

  async #cancel(jobId: string): Promise<void> {
    // The notification may arrive before the response to the claim.
    await this.#claims.settled();
    for (const run of this.#claims.runs) if (run.row.id === jobId) run.controller.abort(CANCELLED);
  }

  /** Waits for the jobs to end, at most `limitMs`. */
  async #interruptAll(limitMs: number): Promise<void> {
    const { runs } = this.#claims;
    const interrupt = async (): Promise<void> => {
      await this.#claims.settled();
      for (const { controller } of runs) controller.abort(SHUTDOWN);
      await Promise.all([...runs].map(({ settled }) => settled));
    };
    const limit = new AbortController();
    // The timer rejects only when it is cancelled below.
    await Promise.race([interrupt(), delay(limitMs, undefined, { signal: limit.signal }).catch(() => {})]);
    limit.abort();
  }

  #every(ms: number, run: () => Promise<void>): void {
    this.#timers.push(startRepeating(ms, run, this.#options.logger));
  }
}

/** Runs the task now and every `ms`, never concurrently. */
const startRepeating = (ms: number, task: () => Promise<void>, logger: Logger): NodeJS.Timeout => {
  let busy = false;
  const tick = async (): Promise<void> => {
    if (busy) return;
    busy = true;
    try {
      await task();
    } catch (error) {
      logger.warn({ err: error }, 'job queue maintenance failed, retrying');
    } finally {
      busy = false;
    }
  };
  void tick();
  return setInterval(() => void tick(), ms);
};
