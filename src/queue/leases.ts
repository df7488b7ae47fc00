import type { Queryable } from '../db/database.js';
import { reapJobs, renewLeases } from '../db/tables/server/job.js';
import { CANCELLED, LEASE_LOST } from '../lib/abort.js';
import type { Clock } from '../lib/clock.js';
import { KinoraError } from '../lib/errors.js';
import type { Logger } from '../telemetry/logger.js';
import type { Run } from './execute-job.js';
import { toJobError } from './job-error.js';

/** A job is not to blame when its server restarts a few times, but a job that crashes the server must end. */
const MAX_LOSSES = 20;

interface LeaseOptions {
  readonly db: Queryable;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly leaseMs: number;
}

/**
 * Renews the leases of this process's jobs, and aborts jobs that are cancelled or that another worker may have taken.
 */
export const renewRuns = async ({ db, clock, logger, leaseMs }: LeaseOptions, runs: Iterable<Run>): Promise<void> => {
  const held = [...runs].filter(({ controller }) => controller.signal.reason !== LEASE_LOST);
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
    logger.warn({ err: error }, 'job lease renewal failed');
    for (const run of held) if (clock.monotonicMs() > run.leaseEndsMs) run.controller.abort(LEASE_LOST);
  }
};

/** Takes back the jobs of workers whose lease has expired; `all` takes back the jobs of every worker. */
export const reapLost = async ({ db, logger }: LeaseOptions, all = false): Promise<void> => {
  const lost = toJobError(new KinoraError('internal_error', { cause: new Error('the worker was lost') }));
  const count = await reapJobs(db, lost, MAX_LOSSES, all);
  if (count > 0) logger.warn({ count }, 'jobs of lost workers requeued');
};
