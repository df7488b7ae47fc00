import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../db/database.js';
import {
  claimJob,
  deleteFinishedJobs,
  finishJob,
  hasLiveJobs,
  JOB_CANCEL,
  JOB_READY,
  type JobRow,
  markJobFailing,
  reapJobs,
  releaseJob,
  renewLeases,
  retryJob,
} from '../db/tables/server/job.js';
import { CANCELLED, LEASE_LOST, SHUTDOWN } from '../lib/abort.js';
import { backoffMs } from '../lib/backoff.js';
import type { Clock } from '../lib/clock.js';
import { isDatabaseUnavailable } from '../lib/database-unavailable.js';
import { type FailureClass, isKinoraError, KinoraError } from '../lib/errors.js';
import type { Logger } from '../telemetry/logger.js';
import type { Metrics } from '../telemetry/metrics.js';
import { fromJobError, toJobError } from './job-error.js';
import type { Job, QueueWorker } from './queue.js';

const DEFAULT_LEASE_MS = 30_000;
/** Finds what no notification told of: retries that are due, jobs enqueued while the connection was down. */
const POLL_MS = 2_000;
const DELETE_FINISHED_MS = 60 * 60_000;
const RETRY_BACKOFF = { baseMs: 2_000, maxMs: 5 * 60_000 };
/** With the backoff above more than two hours: the operator can make room or start the database again. */
const MAX_RETRIES = 40;
/** A job whose server is restarted again and again is not to blame, but one that takes the server down must end. */
const MAX_LOSSES = 20;
const SETTLE_BACKOFF = { baseMs: 100, maxMs: 2_000 };
/** Of work that belongs to a failure and itself fails: without end, for no resource may stay "preparing" for ever. */
const FAILING_BACKOFF = { baseMs: 30_000, maxMs: 30_000 };

export interface Runner {
  start(): Promise<void>;
  /** Waits until no job of the runner's queues is active or due, delayed ones aside. */
  drain(): Promise<void>;
  /** Aborts what runs and hands it back to the queue; waits at most `limitMs` for it. */
  stop(limitMs: number): Promise<void>;
}

interface RunnerOptions {
  readonly database: Database;
  readonly workers: readonly QueueWorker[];
  readonly logger: Logger;
  readonly clock: Clock;
  /** Names this process in the job table; different for every start. */
  readonly workerId: string;
  /** A job whose worker has not been heard of for so long is given to another; renewed three times as often. */
  readonly leaseMs?: number;
  /** No other process uses the database: the leases found at the start are those of a killed run. */
  readonly isAlone?: boolean;
  readonly metrics?: Metrics;
}

interface Slot {
  readonly worker: QueueWorker;
  active: number;
  /** The claim loop while it runs. */
  claiming: Promise<void> | undefined;
  claimAgain: boolean;
}

/** One attempt of one job in this process. */
interface Run {
  readonly worker: QueueWorker;
  readonly row: JobRow;
  readonly leaseId: string;
  readonly controller: AbortController;
  readonly logger: Logger;
  /** Monotonic time up to which no other worker can have taken the job. */
  leaseEndsMs: number;
  settled: Promise<void>;
}

const failureOf = (error: unknown): FailureClass => {
  if (isKinoraError(error)) return error.failure;
  return isDatabaseUnavailable(error) ? 'retry' : 'defect';
};

export const createRunner = (options: RunnerOptions): Runner => {
  const { database, workers, logger, clock, workerId, leaseMs = DEFAULT_LEASE_MS } = options;
  const db = database.queryable;
  const slots = new Map<string, Slot>(
    workers.map((worker) => [worker.queue.name, { worker, active: 0, claiming: undefined, claimAgain: false }]),
  );
  const runs = new Map<string, Run>();
  const ended = (run: Run, end: 'done' | 'failed' | 'cancelled' | 'retried') =>
    options.metrics?.jobEnded(run.worker.queue.name, end);
  const timers: NodeJS.Timeout[] = [];
  let unlisten: (() => Promise<void>)[] = [];
  let stopping = false;
  let stopped = false;

  /** Writes a run's outcome. An unavailable database must not cost an hour of work, so it tries as long as the lease lasts. */
  const settle = async (run: Run, change: () => Promise<boolean>): Promise<boolean> => {
    for (let attempt = 1; ; attempt++) {
      try {
        const held = await change();
        if (!held) run.logger.warn({}, 'The job was taken over by another worker; this outcome does not count');
        return held;
      } catch (error) {
        if (stopped || clock.monotonicMs() > run.leaseEndsMs) throw error;
        run.logger.warn({ err: error }, "The job's outcome could not be stored; trying again");
        await delay(backoffMs(attempt, SETTLE_BACKOFF));
      }
    }
  };

  const fail = async (run: Run, job: Job<never>, error: unknown): Promise<void> => {
    try {
      await run.worker.onFailed?.(job, error);
    } catch (failure) {
      run.logger.error({ err: failure }, 'The work that follows a failed job has failed; trying again');
      const runAt = new Date(clock.now().getTime() + backoffMs(1, FAILING_BACKOFF));
      await settle(run, () => retryJob(db, run.leaseId, { runAt }));
      return;
    }
    if (await settle(run, () => finishJob(db, run.leaseId, 'failed'))) ended(run, 'failed');
  };

  const afterError = async (run: Run, job: Job<never>, error: unknown): Promise<void> => {
    const { signal } = run.controller;
    if (signal.aborted) {
      run.logger.info({ err: error, reason: String(signal.reason) }, 'The job was interrupted');
      if (signal.reason === SHUTDOWN) await settle(run, () => releaseJob(db, run.leaseId));
      if (signal.reason === CANCELLED) {
        if (await settle(run, () => finishJob(db, run.leaseId, 'cancelled'))) ended(run, 'cancelled');
      }
      return;
    }
    const failure = failureOf(error);
    const stored = toJobError(error);
    const isRetry = failure === 'retry';
    const { attempt, retries, losses } = run.row;
    const tries = isRetry ? retries + 1 : attempt - retries - losses;
    if (failure !== 'fail' && tries < (isRetry ? MAX_RETRIES : job.maxAttempts)) {
      run.logger[failure === 'defect' ? 'error' : 'warn']({ err: error }, 'The job failed and is tried again');
      const runAt = new Date(clock.now().getTime() + backoffMs(tries, RETRY_BACKOFF));
      if (await settle(run, () => retryJob(db, run.leaseId, { runAt, error: stored, isRetry }))) ended(run, 'retried');
      return;
    }
    run.logger[failure === 'fail' ? 'info' : 'error']({ err: error }, 'The job failed');
    // Stored first, so that a process that dies now leaves a job that knows how it ends.
    if (await settle(run, () => markJobFailing(db, run.leaseId, stored))) await fail(run, job, error);
  };

  const execute = async (run: Run): Promise<void> => {
    const { row, worker } = run;
    const job = {
      id: row.id,
      queue: row.queue,
      payload: row.payload as never,
      attempt: row.attempt,
      maxAttempts: row.max_attempts,
    };
    if (row.failing) return fail(run, job, fromJobError(row.error));
    try {
      await worker.handler(job, { signal: run.controller.signal });
    } catch (error) {
      return afterError(run, job, error);
    }
    if (await settle(run, () => finishJob(db, run.leaseId, 'done'))) ended(run, 'done');
  };

  const startRun = (slot: Slot, row: JobRow, claimedAtMs: number): void => {
    const leaseId = row.lease_id!;
    const run: Run = {
      worker: slot.worker,
      row,
      leaseId,
      controller: new AbortController(),
      logger: logger.child({ job_id: row.id, queue: row.queue, attempt: row.attempt }),
      leaseEndsMs: claimedAtMs + leaseMs,
      settled: Promise.resolve(),
    };
    slot.active++;
    runs.set(leaseId, run);
    run.settled = execute(run)
      .catch((error) =>
        run.logger.error({ err: error }, "The job's outcome could not be stored; its lease will run out"),
      )
      .finally(() => {
        slot.active--;
        runs.delete(leaseId);
        void claim(slot);
      });
  };

  const claimLoop = async (slot: Slot): Promise<void> => {
    do {
      slot.claimAgain = false;
      while (!stopping && slot.active < slot.worker.concurrency) {
        const claimedAtMs = clock.monotonicMs();
        const row = await claimJob(db, slot.worker.queue.name, { worker: workerId, leaseMs, now: clock.now() });
        if (!row) break;
        startRun(slot, row, claimedAtMs);
      }
    } while (slot.claimAgain && !stopping);
  };

  /** Fills the free places of a queue; asked again while it does so, it looks once more. */
  const claim = (slot: Slot): Promise<void> => {
    slot.claimAgain = true;
    slot.claiming ??= claimLoop(slot)
      .catch((error) => logger.warn({ err: error, queue: slot.worker.queue.name }, 'No job could be claimed'))
      .finally(() => {
        slot.claiming = undefined;
      });
    return slot.claiming;
  };

  const claims = async (): Promise<void> => {
    await Promise.all([...slots.values()].map(({ claiming }) => claiming));
  };

  const cancelRun = async (jobId: string): Promise<void> => {
    // The notification may overtake the answer to the claim.
    await claims();
    for (const run of runs.values()) if (run.row.id === jobId) run.controller.abort(CANCELLED);
  };

  const renew = async (): Promise<void> => {
    const held = [...runs.values()].filter(({ controller }) => controller.signal.reason !== LEASE_LOST);
    if (held.length === 0) return;
    const askedAtMs = clock.monotonicMs();
    try {
      const leaseIds = held.map(({ leaseId }) => leaseId);
      const renewed = new Map((await renewLeases(db, leaseIds, leaseMs)).map((row) => [row.lease_id, row.cancel]));
      for (const run of held) {
        const cancel = renewed.get(run.leaseId);
        if (cancel === undefined) run.controller.abort(LEASE_LOST);
        else run.leaseEndsMs = askedAtMs + leaseMs;
        if (cancel) run.controller.abort(CANCELLED);
      }
    } catch (error) {
      logger.warn({ err: error }, 'The job leases could not be renewed');
      for (const run of held) if (clock.monotonicMs() > run.leaseEndsMs) run.controller.abort(LEASE_LOST);
    }
  };

  const reap = async (all = false): Promise<void> => {
    const lost = toJobError(new KinoraError('internal_error', { cause: new Error('the worker was lost') }));
    const count = await reapJobs(db, lost, MAX_LOSSES, all);
    if (count > 0) logger.warn({ count }, 'Jobs of lost workers were taken back');
  };

  const every = (ms: number, work: () => Promise<void>): void => {
    let busy = false;
    const tick = async (): Promise<void> => {
      if (busy) return;
      busy = true;
      try {
        await work();
      } catch (error) {
        logger.warn({ err: error }, 'The job queue could not be looked after; trying again');
      } finally {
        busy = false;
      }
    };
    timers.push(setInterval(() => void tick(), ms));
    void tick();
  };

  return {
    start: async () => {
      if (options.isAlone) await reap(true);
      unlisten = [
        await database.listen(JOB_READY, (queue) => {
          const slot = slots.get(queue);
          if (slot) void claim(slot);
        }),
        await database.listen(JOB_CANCEL, (jobId) => void cancelRun(jobId)),
      ];
      every(leaseMs / 3, async () => {
        await renew();
        await reap();
      });
      every(POLL_MS, async () => {
        for (const slot of slots.values()) void claim(slot);
      });
      every(DELETE_FINISHED_MS, () => deleteFinishedJobs(db));
    },
    drain: async () => {
      const queues = [...slots.keys()];
      for (;;) {
        await Promise.all([...slots.values()].map(claim));
        if (runs.size > 0) await Promise.all([...runs.values()].map(({ settled }) => settled));
        else if (await hasLiveJobs(db, queues, clock.now()))
          await delay(20); // another runner's
        else return;
      }
    },
    stop: async (limitMs) => {
      stopping = true;
      for (const stop of unlisten) await stop();
      const released = (async () => {
        await claims();
        for (const { controller } of runs.values()) controller.abort(SHUTDOWN);
        await Promise.all([...runs.values()].map(({ settled }) => settled));
      })();
      const limit = new AbortController();
      // The timer rejects only when it is switched off below.
      await Promise.race([released, delay(limitMs, undefined, { signal: limit.signal }).catch(() => {})]);
      limit.abort();
      stopped = true;
      for (const timer of timers) clearInterval(timer);
      for (const run of runs.values()) {
        run.logger.warn({}, 'The job did not stop in time and is handed back while it runs');
        await releaseJob(db, run.leaseId);
      }
    },
  };
};
