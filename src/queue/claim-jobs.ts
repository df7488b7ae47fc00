import type { Queryable } from '../db/database.js';
import { claimJob, type JobRow, listDueQueues } from '../db/tables/server/job.js';
import type { Clock } from '../lib/clock.js';
import type { Logger } from '../telemetry/logger.js';
import type { Run } from './execute-job.js';
import { leaseEndMs } from './leases.js';
import type { QueueWorker } from './queue.js';

export interface ClaimOptions {
  readonly db: Queryable;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly workers: readonly QueueWorker[];
  readonly workerId: string;
  readonly leaseMs: number;
  readonly execute: (run: Run) => Promise<void>;
}

/** The jobs that this process has claimed. */
export interface Claims {
  /** The running jobs. */
  readonly runs: ReadonlySet<Run>;
  /**
   * Fills the free slots of a queue if this process handles it. A call during a running claim makes it look once
   * more.
   */
  claim(queue: string): Promise<void>;
  /** Fills the free slots of every queue that has a due job. */
  claimDue(): Promise<void>;
  /** Waits until no claim is in progress. */
  settled(): Promise<void>;
  /** Claims no further jobs. */
  stop(): void;
}

interface Slot {
  readonly worker: QueueWorker;
  active: number;
  /** A claim is in progress; `claimed` is its end, or that of the last one. */
  isClaiming: boolean;
  claimed: Promise<void>;
  claimAgain: boolean;
}

export const createClaims = (options: ClaimOptions): Claims => {
  const { db, clock, logger, workerId, leaseMs, execute } = options;
  const slots = new Map<string, Slot>(
    options.workers.map((worker) => [
      worker.queue.name,
      { worker, active: 0, isClaiming: false, claimed: Promise.resolve(), claimAgain: false },
    ]),
  );
  const runs = new Set<Run>();
  let stopping = false;

  const startRun = (slot: Slot, row: JobRow, claimedAtMs: number): void => {
    const leaseId = row.lease_id!;
    const run: Run = {
      worker: slot.worker,
      row,
      leaseId,
      controller: new AbortController(),
      logger: logger.child({ job_id: row.id, queue: row.queue, attempt: row.attempt }),
      leaseEndsMs: leaseEndMs(claimedAtMs, leaseMs),
      settled: Promise.resolve(),
    };
    slot.active++;
    runs.add(run);
    run.settled = execute(run)
      .catch((error) => run.logger.error({ err: error }, 'job result not stored, lease will expire'))
      .finally(() => {
        slot.active--;
        runs.delete(run);
        void fill(slot);
      });
  };

  const claimLoop = async (slot: Slot): Promise<void> => {
    try {
      while (slot.claimAgain && !stopping) {
        slot.claimAgain = false;
        while (!stopping && slot.active < slot.worker.concurrency) {
          const claimedAtMs = clock.monotonicMs();
          const row = await claimJob(db, slot.worker.queue.name, { worker: workerId, leaseMs, now: clock.now() });
          if (!row) break;
          startRun(slot, row, claimedAtMs);
        }
      }
    } catch (error) {
      logger.warn({ err: error, queue: slot.worker.queue.name }, 'job claim failed');
    } finally {
      // At once after the last look: whoever asks from now on starts another loop.
      slot.isClaiming = false;
    }
  };

  const fill = (slot: Slot): Promise<void> => {
    slot.claimAgain = true;
    if (!slot.isClaiming) {
      slot.isClaiming = true;
      slot.claimed = claimLoop(slot);
    }
    return slot.claimed;
  };

  return {
    runs,
    claim: async (queue) => {
      const slot = slots.get(queue);
      if (slot) await fill(slot);
    },
    claimDue: async () => {
      const free = [...slots].filter(([, { worker, active }]) => active < worker.concurrency).map(([queue]) => queue);
      if (stopping || free.length === 0) return;
      const due = await listDueQueues(db, free, clock.now());
      await Promise.all(due.map((queue) => fill(slots.get(queue)!)));
    },
    settled: async () => {
      await Promise.all([...slots.values()].map(({ claimed }) => claimed));
    },
    stop: () => {
      stopping = true;
    },
  };
};
