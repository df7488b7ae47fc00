import type { Transaction } from '../../db/database.js';
import { listActiveRunIds } from '../../db/tables/robots/directive-run.js';
import { takeWaitingJobs } from '../../db/tables/robots/robots-job.js';
import type { DomainContext } from '../context.js';

/** Takes one step of a run; payload `{ runId }`. */
export const RUN_QUEUE = 'directive-run';
/** Does the work of a job; payload `{ jobId }`. */
export const ROBOTS_QUEUE = 'robots-job';

/**
 * Lets the runs and jobs on an asset that wait look again, in the transaction that changed the asset. Runs each time with a
 * queued job of its own: one that is active may have looked before.
 */
export const wakeRuns = async (
  { queue }: Pick<DomainContext, 'queue'>,
  tx: Transaction,
  assetId: string,
): Promise<void> => {
  for (const jobId of await takeWaitingJobs(tx, assetId)) await queue.enqueue(ROBOTS_QUEUE, { jobId }, {}, tx);
  for (const runId of await listActiveRunIds(tx, assetId)) await queue.enqueue(RUN_QUEUE, { runId }, {}, tx);
};
