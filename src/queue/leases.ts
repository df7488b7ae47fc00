import type { Queryable } from '../db/database.js';
import { reapJobs, renewLeases } from '../db/tables/server/job.js';
import { CANCELLED, LEASE_LOST } from '../lib/abort.js';
import type { Clock } from '../lib/clock.js';
import { KinoraError } from '../lib/errors.js';
import type { Logger } from '../telemetry/logger.js';
import type { Run } from './executor.js';
import { toJobError } from './job-error.js';

/**
 * A job is not to blame when its server restarts a few times, but a job that crashes the server
 * must end.
 */
const MAX_LOSSES = 20;

interface LeaseOptions {
  readonly db: Queryable;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly leaseMs: number;
  /** The running jobs. */
  readonly runs: Iterable<Run>;
}

/** Counted from before the query was sent, and some time before the database ends the lease. */
export const leaseEndMs = (askedAtMs: number, leaseMs: number): number => askedAtMs + 0.9 * leaseMs;

/** The leases of this process's jobs. */
export class JobLeases {
  readonly #options: LeaseOptions;
  #checkedMs: number;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#checkedMs = options.clock.monotonicMs();
  }

  /** Renews the leases, and aborts jobs that are cancelled or that another worker has taken. */
  async renew(): Promise<void> {
    const { db, clock, logger, leaseMs, runs } = this.#options;
    const held = [...runs].filter(({ controller }) => controller.signal.reason !== LEASE_LOST);
    if (held.length === 0) return;
    const askedAtMs = clock.monotonicMs();
    try {
      const leaseIds = held.map(({ leaseId }) => leaseId);
      const renewed = new Map((await renewLeases(db, leaseIds, leaseMs)).map((row) => [row.lease_id, row.cancel]));
      for (const run of held) {
        const cancel = renewed.get(run.leaseId);
        if (cancel === undefined) run.controller.abort(LEASE_LOST);
        else run.leaseEndsMs = leaseEndMs(askedAtMs, leaseMs);
        if (cancel) run.controller.abort(CANCELLED);
      }
    } catch (error) {
      logger.warn({ err: error }, 'job lease renewal failed');
    }
  }

  /**
   * Aborts the jobs whose leases were not renewed in time, whatever the database does; call it
   * every `everyMs`. After a pause of the whole process, a renewal has that much time for its
   * response.
   */
  check(everyMs: number): void {
    const nowMs = this.#options.clock.monotonicMs();
    const wasPaused = nowMs - this.#checkedMs > 3 * everyMs;
    this.#checkedMs = nowMs;
    if (wasPaused) return;
    for (const run of this.#options.runs) if (nowMs >= run.leaseEndsMs) run.controller.abort(LEASE_LOST);
  }

  /**
   * Takes back the jobs of workers whose lease has expired; `all` takes back the jobs of every
   * worker.
   */
  async reapLost(all = false): Promise<void> {
    const { db, logger } = this.#options;
    const lost = toJobError(new KinoraError('internal_error', { cause: new Error('the worker was lost') }));
    const count = await reapJobs(db, lost, MAX_LOSSES, all);
    if (count > 0) logger.warn({ count }, 'jobs of lost workers requeued');
  }
}
