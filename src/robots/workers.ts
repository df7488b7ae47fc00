import { areTrackFilesNeeded } from '../db/tables/assets/track-media.js';
import { KinoraError } from '../lib/errors.js';
import type { Job, JobContext, QueueWorker } from '../queue/queue.js';
import { trackPrefix } from '../storage/keys.js';
import type { Logger } from '../telemetry/logger.js';
import type { WorkflowName } from './api/workflows.js';
import { advanceRun, failRun } from './directives/advance-run.js';
import { stepsPrefix } from './jobs/job-files.js';
import { robotsQueues } from './queues.js';
import { type WorkflowDeps, WorkflowRun } from './support/workflow-run.js';
import { findRobotsJobById } from './tables/robots-job.js';
import { modelsNeeded, workflows } from './workflows/index.js';

/** A job mostly waits for a model's answer. */
const CONCURRENCY = 2;

interface RunPayload {
  readonly runId: string;
}
interface JobPayload {
  readonly jobId: string;
}
interface WorkerDeps extends WorkflowDeps {
  readonly logger: Logger;
}

/** Workers that advance the runs of directives step by step, and run the workflows of jobs. */
export const createRobotsWorkers = (deps: WorkerDeps): QueueWorker[] => [
  {
    queue: robotsQueues.advanceRun,
    concurrency: 1,
    handler: (job: Job<RunPayload>) => advanceRun(deps.context, job.payload.runId),
    onFailed: async ({ id, payload: { runId } }: Job<RunPayload>, error) => {
      deps.logger.error({ run_id: runId, job_id: id, err: error }, 'directive run failed');
      await failRun(deps.context, runId);
    },
  },
  {
    queue: robotsQueues.runWorkflow,
    concurrency: CONCURRENCY,
    handler: async ({ payload: { jobId } }: Job<JobPayload>, { signal }: JobContext) => {
      const started = await deps.state.start(jobId);
      try {
        if (started) await runWorkflow(new WorkflowRun(deps, started.job, started.asset, signal));
      } catch (error) {
        // Cancelled or deleted with its asset: the reason for the failure does not matter.
        if (await deps.state.findProcessing(jobId)) throw error;
      }
      await removeLeftovers(deps, jobId);
    },
    onFailed: async ({ id, payload: { jobId } }: Job<JobPayload>, error) => {
      deps.logger.warn({ robots_job_id: jobId, job_id: id, err: error }, 'robots job failed');
      await deps.state.fail(jobId, error);
      await removeLeftovers(deps, jobId);
    },
  },
];

const runWorkflow = async (run: WorkflowRun): Promise<void> => {
  const { job, state, model } = run;
  // Checked before shots are searched in vain.
  const needed = modelsNeeded(job, run.asset.resolution_tier === 'audio-only');
  if (needed.length > 0 && !needed.some((kind) => model.isConfigured(kind)))
    throw new KinoraError('provider_unavailable');
  const workflow = workflows[job.workflow as WorkflowName];
  for (;;) {
    const end = await workflow(run);
    if ('publish' in end) {
      await state.complete(job.id, end.publish);
      return;
    }
    if (await state.wait(job.id, end.waitUntil)) return;
  }
};

/**
 * Removes what a job that ended, now or in an earlier run, leaves: its steps, and the files of a
 * track that it did not create.
 */
const removeLeftovers = async (
  { blobs, context }: Pick<WorkflowDeps, 'blobs' | 'context'>,
  jobId: string,
): Promise<void> => {
  const db = context.database.queryable;
  const job = await findRobotsJobById(db, jobId);
  if (!job || job.status === 'pending' || job.status === 'processing') return;
  await blobs.deletePrefix(stepsPrefix(job.asset_id, jobId));
  if (!(await areTrackFilesNeeded(db, job.new_track_id)))
    await blobs.deletePrefix(trackPrefix(job.asset_id, job.new_track_id));
};
