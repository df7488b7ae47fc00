import { json } from 'node:stream/consumers';
import type { WorkflowName } from '../../api/schemas/workflows.js';
import { advanceRun } from '../../domain/robots/advance-run.js';
import { ROBOTS_QUEUE, RUN_QUEUE } from '../../domain/robots/wake-runs.js';
import type { Job, JobContext, QueueWorker } from '../../queue/queue.js';
import { robotsFileKey, robotsStepKey, robotsStepsPrefix } from '../../storage/keys.js';
import type { RobotsDeps, Workflow, WorkflowRun } from './workflow.js';
import { workflows } from './workflows/index.js';

/** Most of the time a job waits for the answer of a model. */
const CONCURRENCY = 2;

interface JobPayload {
  readonly jobId: string;
}

/** Runs of directives go on step by step; jobs do what their workflow says. */
export const createRobotsWorkers = (deps: RobotsDeps): QueueWorker[] => [
  {
    queue: RUN_QUEUE,
    concurrency: 1,
    handler: (job: Job<{ runId: string }>) => advanceRun(deps.context, job.payload.runId),
  },
  {
    queue: ROBOTS_QUEUE,
    concurrency: CONCURRENCY,
    handler: async ({ payload: { jobId } }: Job<JobPayload>, { signal }: JobContext) => {
      const started = await deps.state.start(jobId);
      if (!started) return;
      const run = openRun(deps, started, signal);
      try {
        await work(run);
      } catch (error) {
        // Cancelled or deleted with its asset: how it failed is of no interest.
        if (await deps.state.isWanted(jobId)) throw error;
      }
      if (!(await deps.state.isWanted(jobId))) await removeSteps(deps, run);
    },
    onFailed: async ({ id, payload: { jobId } }: Job<JobPayload>, error) => {
      deps.logger.warn({ robots_job_id: jobId, job_id: id, err: error }, 'a robots job failed');
      await deps.state.fail(jobId, error);
    },
  },
];

const work = async (run: WorkflowRun): Promise<void> => {
  const { job, state } = run;
  const workflow: Workflow = workflows[job.workflow as WorkflowName];
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

const removeSteps = ({ blobs }: RobotsDeps, { asset, job }: WorkflowRun): Promise<void> =>
  blobs.deletePrefix(robotsStepsPrefix(asset.id, job.id));
