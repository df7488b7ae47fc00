import type { Transaction } from '../../db/database.js';
import type { DomainContext } from '../../domain/context.js';
import { robotsQueues } from '../queues.js';
import { listActiveRunIds } from '../tables/directive-run.js';
import { takeWaitingJobs } from '../tables/robots-job.js';

/**
 * Lets the waiting runs and jobs of an asset check again, in the transaction that changed the
 * asset. Each call enqueues a new job per run, because an active one may have checked before the
 * change.
 */
export const wakeRuns = async (
  { queue }: Pick<DomainContext, 'queue'>,
  tx: Transaction,
  assetId: string,
): Promise<void> => {
  for (const jobId of await takeWaitingJobs(tx, assetId))
    await queue.enqueue(robotsQueues.runWorkflow, { jobId }, { again: true }, tx);
  for (const runId of await listActiveRunIds(tx, assetId))
    await queue.enqueue(robotsQueues.advanceRun, { runId }, {}, tx);
};
