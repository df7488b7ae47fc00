import type { Transaction } from '../../db/database.js';
import { listActiveRunIds } from '../../db/tables/robots/directive-run.js';
import { takeWaitingJobs } from '../../db/tables/robots/robots-job.js';
import type { DomainContext } from '../context.js';
import { queues } from '../queues.js';

/**
 * Lets the runs and jobs on an asset that wait look again, in the transaction that changed the asset. Runs each time with a
 * queued job of its own: one that is active may have looked before.
 */
export const wakeRuns = async (
  { queue }: Pick<DomainContext, 'queue'>,
  tx: Transaction,
  assetId: string,
): Promise<void> => {
  for (const jobId of await takeWaitingJobs(tx, assetId))
    await queue.enqueue(queues.runWorkflow, { jobId }, { again: true }, tx);
  for (const runId of await listActiveRunIds(tx, assetId)) await queue.enqueue(queues.advanceRun, { runId }, {}, tx);
};
