import { json } from 'node:stream/consumers';
import { areTrackFilesNeeded } from '../db/tables/assets/track-media.js';
import { queues } from '../domain/queues.js';
import { KinoraError } from '../lib/errors.js';
import type { Job, JobContext, QueueWorker } from '../queue/queue.js';
import { robotsFileKey, robotsStepKey, robotsStepsPrefix, trackPrefix } from '../storage/keys.js';
import type { WorkflowName } from './api/workflows.js';
import { advanceRun, failRun } from './directives/advance-run.js';
import type { RobotsDeps, Workflow, WorkflowRun } from './support/workflow.js';
import { findRobotsJobById } from './tables/robots-job.js';
import { modelsNeeded, workflows } from './workflows/index.js';

/** A job mostly waits for a model's answer. */
const CONCURRENCY = 2;

interface JobPayload {
  readonly jobId: string;
}

/** Advances the runs of directives step by step; jobs do the work of their workflow. */
export const createRobotsWorkers = (deps: RobotsDeps): QueueWorker[] => [
  {
    queue: queues.advanceRun,
    concurrency: 1,
    handler: (job: Job<{ runId: string }>) => advanceRun(deps.context, job.payload.runId),
    onFailed: async ({ id, payload: { runId } }: Job<{ runId: string }>, error) => {
      deps.logger.error({ run_id: runId, job_id: id, err: error }, 'directive run failed');
      await failRun(deps.context, runId);
    },
  },
  {
    queue: queues.runWorkflow,
    concurrency: CONCURRENCY,
    handler: async ({ payload: { jobId } }: Job<JobPayload>, { signal }: JobContext) => {
      const started = await deps.state.start(jobId);
      try {
        if (started) await work(openRun(deps, started, signal));
      } catch (error) {
        // Cancelled or deleted with its asset: the reason for the failure does not matter.
        if (await deps.state.findWanted(jobId)) throw error;
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

const work = async (run: WorkflowRun): Promise<void> => {
  const { job, state } = run;
  const name = job.workflow as WorkflowName;
  const workflow: Workflow = workflows[name];
  // Checked before shots are searched in vain.
  const needed = modelsNeeded(job, run.asset.resolution_tier === 'audio-only');
  if (needed.length > 0 && !needed.some((kind) => run.model.isConfigured(kind)))
    throw new KinoraError('provider_unavailable');
  for (;;) {
    const end = await workflow(run);
    if ('publish' in end) {
      await state.complete(job.id, end.publish);
      return;
    }
    if (await state.wait(job.id, end.waitUntil)) return;
  }
};

const openRun = (
  deps: RobotsDeps,
  { job, asset }: Pick<WorkflowRun, 'job' | 'asset'>,
  signal: AbortSignal,
): WorkflowRun => ({
  ...deps,
  logger: deps.logger.child({ asset_id: asset.id, robots_job_id: job.id, workflow: job.workflow }),
  job,
  asset,
  signal,
  step: async <T>(name: string, make: () => Promise<T>): Promise<T> => {
    signal.throwIfAborted();
    const key = robotsStepKey(asset.id, job.id, name);
    const stored = await deps.blobs.read(key);
    if (stored) return (await json(stored)) as T;
    const made = await make();
    await deps.blobs.put(key, Buffer.from(JSON.stringify(made)));
    return made;
  },
  writeFile: (name, bytes) => deps.blobs.put(robotsFileKey(asset.id, job.id, name), bytes),
});

/**
 * Removes what a job that ended, now or in an earlier run, leaves: its steps, and the files of a track that it did
 * not create.
 */
const removeLeftovers = async ({ blobs, context }: RobotsDeps, jobId: string): Promise<void> => {
  const db = context.database.queryable;
  const job = await findRobotsJobById(db, jobId);
  if (!job || job.status === 'pending' || job.status === 'processing') return;
  await blobs.deletePrefix(robotsStepsPrefix(job.asset_id, jobId));
  if (!(await areTrackFilesNeeded(db, job.new_track_id)))
    await blobs.deletePrefix(trackPrefix(job.asset_id, job.new_track_id));
};
