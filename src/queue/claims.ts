import type { Queryable } from '../db/database.js';
import { claimJob, type JobRow, listDueQueues } from '../db/tables/server/job.js';
import type { Clock } from '../lib/clock.js';
import type { Logger } from '../telemetry/logger.js';
import type { Run } from './executor.js';
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

interface Slot {
  readonly worker: QueueWorker;
  active: number;
  /** A claim is in progress; `claimed` is its end, or that of the last one. */
  isClaiming: boolean;
  claimed: Promise<void>;
  claimAgain: boolean;
}

/** The jobs that this process has claimed. */
export class Claims {
  readonly #options: ClaimOptions;
  readonly #slots: ReadonlyMap<string, Slot>;
  readonly #runs = new Set<Run>();
  #isStopping = false;

  constructor(options: ClaimOptions) {
    this.#options = options;
    this.#slots = new Map(
      options.workers.map((worker) => [
        worker.queue.name,
        { worker, active: 0, isClaiming: false, claimed: Promise.resolve(), claimAgain: false },
      ]),
    );
  }

  /** The running jobs. */
  get runs(): ReadonlySet<Run> {
    return this.#runs;
  }

  /**
   * Fills the free slots of a queue if this process handles it. A call during a running claim makes
   * it query once more.
   */
  async claim(queue: string): Promise<void> {
    const slot = this.#slots.get(queue);
    if (slot) await this.#fill(slot);
  }

  /** Fills the free slots of every queue that has a due job. */
  async claimDue(): Promise<void> {
    const free = [...this.#slots].flatMap(([queue, { worker, active }]) => (active < worker.concurrency ? queue : []));
    if (this.#isStopping || free.length === 0) return;
    const due = await listDueQueues(this.#options.db, free, this.#options.clock.now());
    await Promise.all(due.map((queue) => this.#fill(this.#slots.get(queue)!)));
  }

  /** Waits until no claim is in progress. */
  async settled(): Promise<void> {
    await Promise.all([...this.#slots.values()].map(({ claimed }) => claimed));
  }

  /** Claims no further jobs. */
  stop(): void {
    this.#isStopping = true;
  }

  #fill(slot: Slot): Promise<void> {
    slot.claimAgain = true;
    if (!slot.isClaiming) {
      slot.isClaiming = true;
      slot.claimed = this.#claimLoop(slot);
    }
    return slot.claimed;
  }

  async #claimLoop(slot: Slot): Promise<void> {
    const { db, clock, logger, workerId, leaseMs } = this.#options;
    const { queue, concurrency } = slot.worker;
    try {
      while (slot.claimAgain && !this.#isStopping) {
        slot.claimAgain = false;
        while (!this.#isStopping && slot.active < concurrency) {
          const claimedAtMs = clock.monotonicMs();
          const row = await claimJob(db, queue.name, { worker: workerId, leaseMs, now: clock.now() });
          if (!row) break;
          this.#run(slot, row, claimedAtMs);
        }
      }
    } catch (error) {
      logger.warn({ err: error, queue: queue.name }, 'job claim failed');
    } finally {
      // Cleared right after the last query, so that a later call starts another loop.
      slot.isClaiming = false;
    }
  }

  #run(slot: Slot, row: JobRow, claimedAtMs: number): void {
    const { logger, leaseMs, execute } = this.#options;
    const run: Run = {
      worker: slot.worker,
      row,
      leaseId: row.lease_id!,
      controller: new AbortController(),
      logger: logger.child({ job_id: row.id, queue: row.queue, attempt: row.attempt }),
      leaseEndsMs: leaseEndMs(claimedAtMs, leaseMs),
      settled: Promise.resolve(),
    };
    slot.active += 1;
    this.#runs.add(run);
    run.settled = execute(run)
      .catch((error) => run.logger.error({ err: error }, 'job result not stored, lease will expire'))
      .finally(() => {
        slot.active -= 1;
        this.#runs.delete(run);
        void this.#fill(slot);
      });
  }
}
