import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../db/database.js';
import { deleteFinishedJobs, hasLiveJobs, JOB_CANCEL, JOB_READY, releaseJob } from '../db/tables/server/job.js';
import { CANCELLED, SHUTDOWN } from '../lib/abort.js';
import type { Clock } from '../lib/clock.js';
import type { Logger } from '../telemetry/logger.js';
import type { Metrics } from '../telemetry/metrics.js';
import { type Claims, createClaims } from './claim-jobs.js';
import { createExecutor } from './execute-job.js';
import { createLeaseCheck, reapLost, renewRuns } from './leases.js';
import type { QueueWorker } from './queue.js';

const DEFAULT_LEASE_MS = 30_000;
/** In the time of a lease. */
const LEASE_CHECKS = 30;
/** Finds jobs that no notification announced: due retries, and jobs enqueued while the connection was down. */
const POLL_MS = 2_000;
const DELETE_FINISHED_MS = 60 * 60_000;

export interface Runner {
  start(): Promise<void>;
  /** Waits until no job of the runner's queues is active or due. Delayed jobs don't count. */
  drain(): Promise<void>;
  /** Aborts running jobs and returns them to the queue; waits at most `limitMs`. */
  stop(limitMs: number): Promise<void>;
}

interface RunnerOptions {
  readonly database: Database;
  readonly workers: readonly QueueWorker[];
  readonly logger: Logger;
  readonly clock: Clock;
  /** Names this process in the job table; different for every start. */
  readonly workerId: string;
  /**
   * A job whose worker does not renew its lease for this long is given to another; leases are renewed three times as
   * often.
   */
  readonly leaseMs?: number;
  /** No other process uses the database, so leases found at startup belong to a killed run. */
  readonly isAlone?: boolean;
  readonly metrics?: Metrics;
}

export const createRunner = (options: RunnerOptions): Runner => {
  const { database, workers, logger, clock, workerId, leaseMs = DEFAULT_LEASE_MS } = options;
  const db = database.queryable;
  const timers: NodeJS.Timeout[] = [];
  let unlisten: (() => Promise<void>)[] = [];
  let stopped = false;
  const execute = createExecutor({ db, clock, metrics: options.metrics, isStopped: () => stopped });
  const claims = createClaims({ db, clock, logger, workers, workerId, leaseMs, execute });
  const { runs } = claims;
  const leases = { db, clock, logger, leaseMs };

  const cancelRun = async (jobId: string): Promise<void> => {
    // The notification may arrive before the answer to the claim.
    await claims.settled();
    for (const run of runs) if (run.row.id === jobId) run.controller.abort(CANCELLED);
  };
  const every = (ms: number, work: () => Promise<void>): void => {
    timers.push(startRepeating(ms, work, logger));
  };

  return {
    start: async () => {
      if (options.isAlone) await reapLost(leases, true);
      unlisten = [
        await database.listen(JOB_READY, (queue) => void claims.claim(queue)),
        await database.listen(JOB_CANCEL, (jobId) => void cancelRun(jobId)),
      ];
      every(leaseMs / 3, async () => {
        await renewRuns(leases, runs);
        await reapLost(leases);
      });
      const checkMs = leaseMs / LEASE_CHECKS;
      timers.push(setInterval(createLeaseCheck(leases, runs, checkMs), checkMs));
      every(POLL_MS, () => claims.claimDue());
      every(DELETE_FINISHED_MS, () => deleteFinishedJobs(db));
    },
    drain: async () => {
      const queues = workers.map(({ queue }) => queue.name);
      for (;;) {
        await claims.claimDue();
        if (runs.size > 0) await Promise.all([...runs].map(({ settled }) => settled));
        else if (await hasLiveJobs(db, queues, clock.now()))
          await delay(20); // another runner's job
        else return;
      }
    },
    stop: async (limitMs) => {
      claims.stop();
      for (const stop of unlisten) await stop();
      await interruptAll(claims, limitMs);
      stopped = true;
      for (const timer of timers) clearInterval(timer);
      for (const run of runs) {
        run.logger.warn({}, 'job did not stop in time, requeued while running');
        await releaseJob(db, run.leaseId);
      }
    },
  };
};

/** Waits for the jobs to end, at most `limitMs`. */
const interruptAll = async (claims: Claims, limitMs: number): Promise<void> => {
  const interrupt = async (): Promise<void> => {
    await claims.settled();
    for (const { controller } of claims.runs) controller.abort(SHUTDOWN);
    await Promise.all([...claims.runs].map(({ settled }) => settled));
  };
  const limit = new AbortController();
  // The timer rejects only when it is cancelled below.
  await Promise.race([interrupt(), delay(limitMs, undefined, { signal: limit.signal }).catch(() => {})]);
  limit.abort();
};

/** Runs the work now and every `ms`, never concurrently. */
const startRepeating = (ms: number, work: () => Promise<void>, logger: Logger): NodeJS.Timeout => {
  let busy = false;
  const tick = async (): Promise<void> => {
    if (busy) return;
    busy = true;
    try {
      await work();
    } catch (error) {
      logger.warn({ err: error }, 'job queue maintenance failed, retrying');
    } finally {
      busy = false;
    }
  };
  void tick();
  return setInterval(() => void tick(), ms);
};
