import type { RobotsJobStatus, RunNode, RunResource, RunStatus } from '../../db/schema.js';
import { isSameLanguage } from '../../media/speech/languages.js';
import type { Binding, DirectiveResource } from '../api/requests.js';

/** Pure functions that decide how a run proceeds. */

export interface TrackFacts {
  readonly id: string;
  readonly type: 'video' | 'audio' | 'text';
  readonly status: string;
  readonly language_code: string | null;
  readonly error: { readonly messages: readonly string[] } | null;
}

export interface RunFacts {
  /** This is the first look at the asset since it became ready. */
  readonly isFirst: boolean;
  /** A resource that the run does not make itself is overdue. */
  readonly isOverdue: boolean;
  readonly tracks: readonly TrackFacts[];
  readonly shots: { readonly status: string } | undefined;
  readonly jobs: ReadonlyMap<string, { readonly status: RobotsJobStatus; readonly outputs: object | null }>;
}

const ready = (resource: RunResource, trackId?: string): RunResource => ({
  reference_id: resource.reference_id,
  state: 'ready',
  ...(trackId !== undefined && { track_id: trackId }),
});
const failed = (resource: RunResource, reason: string): RunResource => ({ ...resource, state: 'failed', reason });

const OVERDUE = 'was not available within 24 hours';

/** Whether the track matches the declaration. */
const matches = (resource: DirectiveResource, { type, language_code }: TrackFacts): boolean => {
  if (resource.type !== 'video.asset.track') return false;
  if (type !== (resource.kind === 'caption' ? 'text' : 'audio')) return false;
  return resource.language === undefined || isSameLanguage(language_code, resource.language);
};

/** The state of a resource. Undefined: its source is an action that has not been started. */
export const evaluateResource = (
  resource: DirectiveResource,
  current: RunResource,
  nodes: readonly RunNode[],
  facts: RunFacts,
): RunResource | undefined => {
  if (current.state !== 'waiting') return current;
  const { source = { via: 'external' } } = resource;
  if (source.via === 'workflow') return evaluateProduced(resource, current, nodes, facts, source.binding);
  if (source.via === 'mux_api') {
    if (resource.type === 'video.asset.shots') return facts.isFirst ? undefined : evaluateShots(current, facts);
    return current.track_id === undefined ? undefined : evaluateTrack(current, current.track_id, facts);
  }
  if (resource.type === 'video.asset.shots' && facts.shots?.status === 'completed') return ready(current);
  const track = facts.tracks.find((one) => one.status === 'ready' && matches(resource, one));
  if (track) return ready(current, track.id);
  if (source.via === 'required') return failed(current, 'was not ready when the run started');
  return facts.isOverdue ? failed(current, OVERDUE) : current;
};

const evaluateTrack = (current: RunResource, trackId: string, { tracks }: RunFacts): RunResource => {
  const track = tracks.find(({ id }) => id === trackId);
  if (!track) return failed(current, 'was deleted');
  if (track.status === 'ready') return ready(current, trackId);
  if (track.status !== 'errored') return { ...current, track_id: trackId };
  return failed(
    current,
    `could not be created: ${track.error?.messages.join(' ') ?? 'The track could not be processed.'}`,
  );
};

const evaluateShots = (current: RunResource, { shots }: RunFacts): RunResource => {
  if (shots?.status === 'completed') return ready(current);
  return shots?.status === 'pending' ? current : failed(current, 'could not be created: shot detection failed');
};

const evaluateProduced = (
  resource: DirectiveResource,
  current: RunResource,
  nodes: readonly RunNode[],
  facts: RunFacts,
  binding: string,
): RunResource => {
  const producer = nodes.find(({ reference_id }) => reference_id === binding);
  const job = producer?.job_id === undefined ? undefined : facts.jobs.get(producer.job_id);
  const hasFailed = producer?.state === 'failed' || job?.status === 'errored' || job?.status === 'cancelled';
  if (hasFailed) return failed(current, `was not made: the workflow ${binding} failed`);
  if (job?.status !== 'completed') return current;
  if (resource.type === 'video.asset.shots') return evaluateShots(current, facts);
  const { uploaded_track_id, track_id } = (job.outputs ?? {}) as { uploaded_track_id?: string; track_id?: string };
  const trackId = uploaded_track_id ?? track_id;
  return trackId === undefined
    ? failed(current, `was not made by the workflow ${binding}`)
    : evaluateTrack(current, trackId, facts);
};

/** What a workflow waits for; `dispatch` when it can start. */
export const evaluateNode = (
  binding: Binding,
  node: RunNode,
  declared: readonly DirectiveResource[],
  resources: readonly RunResource[],
): RunNode | 'dispatch' => {
  if (node.state === 'dispatched' || node.state === 'failed') return node;
  const inputs = (binding.inputs ?? []).map((id) => ({
    resource: resources.find(({ reference_id }) => reference_id === id)!,
    source: declared.find(({ reference_id }) => reference_id === id)?.source,
  }));
  const bad = inputs.find(({ resource }) => resource.state === 'failed')?.resource;
  const base = { reference_id: node.reference_id, workflow: node.workflow };
  if (bad) return { ...base, state: 'failed', reason: `The resource ${bad.reference_id} ${bad.reason}` };
  const open = inputs.filter(({ resource }) => resource.state === 'waiting');
  if (open.length === 0) return 'dispatch';
  const sources = open.flatMap(({ source }) => (source?.via === 'workflow' ? [source.binding] : []));
  return sources.length > 0
    ? { ...base, state: 'waiting_for_source_workflow', sources: [...new Set(sources)] }
    : { ...base, state: 'waiting_for_resources' };
};

/** The state of the whole run; one of the last three when nothing in it continues. */
export const evaluateRun = (
  nodes: readonly RunNode[],
  jobs: ReadonlyMap<string, { readonly status: RobotsJobStatus }>,
): RunStatus => {
  const ends = nodes.map(({ state, job_id }) => {
    if (state === 'failed') return 'failed';
    if (state !== 'dispatched') return 'waiting';
    const status = jobs.get(job_id!)?.status ?? 'errored';
    if (status === 'completed') return 'completed';
    return status === 'pending' || status === 'processing' ? 'running' : 'failed';
  });
  if (ends.includes('running')) return 'running';
  if (ends.includes('waiting')) return 'waiting';
  if (ends.every((end) => end === 'completed')) return 'completed';
  return ends.includes('completed') ? 'partial' : 'errored';
};
