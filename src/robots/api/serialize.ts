import { type Wire, withoutNulls } from '../../api/wire.js';
import type { DirectiveRequest } from './requests.js';

const seconds = (time: Date): number => Math.floor(time.getTime() / 1000);

interface DirectiveRecord {
  readonly id: string;
  readonly created_at: Date;
  readonly name: string;
  readonly resources: readonly object[];
  readonly workflows: readonly object[];
}

export const serializeDirective = ({ id, name, created_at, resources, workflows }: DirectiveRecord): Wire => ({
  id,
  name,
  created_at: seconds(created_at),
  // Directives can't be changed.
  updated_at: seconds(created_at),
  subject: { type: 'video.asset' },
  resources,
  workflows: workflows as DirectiveRequest['workflows'],
});

interface NodeRecord {
  readonly reference_id: string;
  readonly workflow: string;
  readonly state: string;
  readonly sources?: readonly string[];
  readonly job_id?: string;
  readonly reason?: string;
}

interface RunRecord {
  readonly id: string;
  readonly internal_id: string;
  readonly directive_id: string;
  readonly environment_id: string;
  readonly asset_id: string;
  readonly status: string;
  readonly started_at: Date;
  readonly completed_at: Date | null;
  readonly nodes: readonly NodeRecord[];
}

const serializeNode = ({ reference_id, workflow, state, sources, job_id, reason }: NodeRecord): Wire => ({
  reference_id,
  status: state,
  ...(state === 'failed' ? { reason } : { workflow_name: workflow }),
  ...(state === 'dispatched' && { job_id }),
  ...(state === 'waiting_for_source_workflow' && { source_workflows: sources ?? [] }),
});

const runState = (run: RunRecord): Wire => ({
  status: run.status,
  started_at: seconds(run.started_at),
  completed_at: run.completed_at && seconds(run.completed_at),
  node_states: run.nodes.map(serializeNode),
});

/** The answer to the creation of a run. */
export const serializeNewRun = ({ id, asset_id }: RunRecord): Wire => ({
  run_id: id,
  status: 'pending',
  subject_id: asset_id,
});

export const serializeRun = (run: RunRecord): Wire => ({
  run_id: run.id,
  subject_id: run.asset_id,
  ...runState(run),
});

/**
 * The run appears twice in an event: clients read it under `directive_run`, but their documentation
 * uses the event type as the key.
 */
export const serializeRunEvent = (type: string, run: RunRecord): Wire => {
  const shown = { id: run.id, directive_id: run.directive_id, asset_id: run.asset_id, ...runState(run) };
  return {
    created_at: seconds(run.completed_at ?? run.started_at),
    environment_id: run.environment_id,
    internal_id: run.internal_id,
    directive_run: shown,
    [type]: shown,
  };
};

interface JobRecord {
  readonly id: string;
  readonly internal_id: string;
  readonly environment_id: string;
  readonly workflow: string;
  readonly status: string;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly parameters: object;
  readonly passthrough: string | null;
  readonly directive_id: string | null;
  readonly run_id: string | null;
  readonly outputs: object | null;
  readonly error: object | null;
}

/** A job with the data that is not in its row. */
export interface RobotsJobView {
  readonly job: JobRecord;
  /** Signed URLs of its files, by output. */
  readonly urls: Readonly<Record<string, string>>;
  /** The base URL of this API. */
  readonly apiUrl: string;
  /** Undefined once the asset is deleted. */
  readonly asset:
    | { readonly id: string; readonly meta: object | null; readonly passthrough: string | null }
    | undefined;
}

const linkTo = (href: string) => ({ self: { href } });

export const serializeRobotsJob = ({ job, urls, apiUrl, asset }: RobotsJobView): Wire =>
  withoutNulls({
    id: job.id,
    workflow: job.workflow,
    status: job.status,
    units_consumed: 0,
    created_at: seconds(job.created_at),
    updated_at: seconds(job.updated_at),
    passthrough: job.passthrough,
    parameters: job.parameters,
    ...(job.status === 'completed' && { outputs: { ...job.outputs, ...urls } }),
    ...(job.status === 'errored' && { errors: [job.error] }),
    ...(job.run_id !== null && { directive: { id: job.directive_id, run_id: job.run_id } }),
    ...(asset && {
      resources: {
        assets: [
          withoutNulls({
            id: asset.id,
            meta: asset.meta,
            passthrough: asset.passthrough,
            _links: linkTo(`${apiUrl}/video/v1/assets/${asset.id}`),
          }),
        ],
      },
    }),
  });

export const serializeRobotsJobSummary = (apiUrl: string, job: JobRecord): Wire => ({
  id: job.id,
  workflow: job.workflow,
  status: job.status,
  created_at: seconds(job.created_at),
  updated_at: seconds(job.updated_at),
  _links: linkTo(`${apiUrl}/robots/v0/jobs/${job.workflow}/${job.id}`),
});

/** The job appears twice in an event, like a run. */
export const serializeRobotsJobEvent = (type: string, view: RobotsJobView): Wire => {
  const shown = serializeRobotsJob(view);
  const { internal_id, environment_id } = view.job;
  return { ...shown, internal_id, environment_id, [type]: shown };
};
