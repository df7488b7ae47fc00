import { queue } from '../domain/queues.js';

export const robotsQueues = {
  /** Takes one step of a run of a directive. */
  advanceRun: queue<{ readonly runId: string }>('directive-run'),
  /** Does the work of a job. */
  runWorkflow: queue<{ readonly jobId: string }>('robots-job', ({ jobId }) => jobId),
};
