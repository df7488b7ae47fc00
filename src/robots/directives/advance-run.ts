import { isDeepStrictEqual } from 'node:util';
import type { Transaction } from '../../db/database.js';
import type { Row, RunNode, RunResource } from '../../db/schema.js';
import { findAssetById, lockAssetForUpdate } from '../../db/tables/assets/asset.js';
import { findShots } from '../../db/tables/assets/shots.js';
import { listTracks } from '../../db/tables/assets/track.js';
import type { DomainContext } from '../../domain/context.js';
import { isKinoraError } from '../../lib/errors.js';
import type { Binding, DirectiveResource } from '../api/requests.js';
import { needsTrack } from '../api/workflows.js';
import { startRobotsJob } from '../jobs/jobs.js';
import { recordRunEvent } from '../jobs/robots-events.js';
import { robotsQueues } from '../queues.js';
import { findDirectiveById } from '../tables/directive.js';
import { lockRun, saveRun } from '../tables/directive-run.js';
import { findRobotsJobs } from '../tables/robots-job.js';
import { evaluateNode, evaluateResource, evaluateRun, type RunFacts } from './run-graph.js';
import { startAction } from './start-action.js';

type Run = Row<'directive_run'>;
type Asset = Row<'asset'>;

/** How long a run waits for resources that it does not make itself. */
const WAIT_MS = 24 * 3600_000;

interface Step {
  readonly context: DomainContext;
  readonly tx: Transaction;
  readonly run: Run;
  readonly asset: Asset;
  readonly declared: readonly DirectiveResource[];
  readonly bindings: readonly Binding[];
}

/**
 * Advances a run as far as possible: starts what can start and records what has failed. This is one
 * transaction, so a killed server has either completed the step or not begun it.
 */
export const advanceRun = async (context: DomainContext, runId: string): Promise<void> => {
  await context.database.transaction(async (tx) => {
    const run = await lockRun(tx, runId);
    if (!run || run.completed_at !== null) return;
    const directive = await findDirectiveById(tx, run.directive_id);
    const asset = await lockAssetForUpdate(tx, run.environment_id, run.asset_id);
    // A broadcast can be watched, but its recording can't be read before the end.
    if (asset?.status === 'preparing' || asset?.is_live) {
      await saveRun(tx, { ...run, status: 'waiting' });
      return;
    }
    if (asset?.status !== 'ready' || !directive) {
      const reason = asset ? 'The asset is in an errored state' : 'The asset was deleted';
      await endStep(context, tx, { ...run, nodes: run.nodes.map((node) => failWaiting(node, reason)) });
      return;
    }
    const declared = directive.resources as DirectiveResource[];
    const bindings = directive.workflows as Binding[];
    const deadline = run.deadline_at ?? new Date(context.clock.now().getTime() + WAIT_MS);
    if (run.deadline_at === null)
      await context.queue.enqueue(robotsQueues.advanceRun, { runId }, { runAt: deadline }, tx);
    const looked = await lookUntilNothingChanges({ context, tx, run, asset, declared, bindings });
    await endStep(context, tx, { ...run, deadline_at: deadline, ...looked });
  });
};

/** Ends a run that can't continue. The jobs that it has started are not affected. */
export const failRun = async (context: DomainContext, runId: string): Promise<void> => {
  await context.database.transaction(async (tx) => {
    const run = await lockRun(tx, runId);
    if (!run || run.completed_at !== null) return;
    const nodes = run.nodes.map((node) => failWaiting(node, 'The run could not be continued'));
    const failed = { ...run, nodes, status: 'errored', completed_at: context.clock.now() } as const;
    await recordRunEvent(context, tx, 'errored', await saveRun(tx, failed));
  });
};

const failWaiting = (node: RunNode, reason: string): RunNode =>
  node.state === 'dispatched' || node.state === 'failed' ? node : { ...node, state: 'failed', reason };

const endStep = async (context: DomainContext, tx: Transaction, run: Run): Promise<void> => {
  const status = evaluateRun(run.nodes, await jobsOf(tx, run.nodes));
  const hasEnded = status === 'completed' || status === 'partial' || status === 'errored';
  const saved = await saveRun(tx, { ...run, status, completed_at: hasEnded ? context.clock.now() : null });
  if (hasEnded) await recordRunEvent(context, tx, status, saved);
};

const jobsOf = async (tx: Transaction, nodes: readonly RunNode[]) => {
  const ids = nodes.flatMap(({ job_id }) => (job_id === undefined ? [] : [job_id]));
  return new Map((await findRobotsJobs(tx, ids)).map((job) => [job.id, job]));
};

/** A failed resource fails the workflows that need it, and others may wait for these. */
const lookUntilNothingChanges = async (step: Step): Promise<{ resources: RunResource[]; nodes: RunNode[] }> => {
  let { resources, nodes } = step.run as { resources: RunResource[]; nodes: RunNode[] };
  for (let isFirst = step.run.deadline_at === null; ; isFirst = false) {
    const before = { resources, nodes };
    resources = await lookAtResources(step, resources, nodes, isFirst);
    nodes = await lookAtNodes(step, resources, nodes);
    if (isDeepStrictEqual(before, { resources, nodes })) return before;
  }
};

const lookAtResources = async (
  { context, tx, run, asset, declared }: Step,
  resources: readonly RunResource[],
  nodes: readonly RunNode[],
  isFirst: boolean,
): Promise<RunResource[]> => {
  const facts: RunFacts = {
    isFirst,
    isOverdue: run.deadline_at !== null && run.deadline_at <= context.clock.now(),
    tracks: await listTracks(tx, [asset.id]),
    shots: await findShots(tx, asset.id),
    jobs: await jobsOf(tx, nodes),
  };
  const looked: RunResource[] = [];
  for (const [at, resource] of declared.entries()) {
    const currentResource = resources[at]!;
    looked.push(
      evaluateResource(resource, currentResource, nodes, facts) ??
        (await startAction(context, tx, asset, resource, currentResource)),
    );
  }
  return looked;
};

const lookAtNodes = async (
  { context, tx, run, asset, declared, bindings }: Step,
  resources: readonly RunResource[],
  nodes: readonly RunNode[],
): Promise<RunNode[]> => {
  const looked: RunNode[] = [];
  for (const [at, binding] of bindings.entries()) {
    const node = evaluateNode(binding, nodes[at]!, declared, resources);
    looked.push(
      node === 'dispatch' ? await dispatch({ context, tx, run, asset, declared, bindings }, binding, resources) : node,
    );
  }
  return looked;
};

/** Starts the job of a workflow whose inputs are ready. */
const dispatch = async (
  { context, tx, run, asset }: Step,
  { reference_id, workflow, inputs = [], params }: Binding,
  resources: readonly RunResource[],
): Promise<RunNode> => {
  const inputTrackId = resources.find(
    ({ reference_id, track_id }) => inputs.includes(reference_id) && track_id,
  )?.track_id;
  const trackId = needsTrack(workflow) ? (inputTrackId ?? (await firstText(tx, asset.id))) : undefined;
  const parameters = { asset_id: asset.id, ...(trackId !== undefined && { track_id: trackId }), ...params };
  try {
    if (needsTrack(workflow) && trackId === undefined)
      return { reference_id, workflow, state: 'failed', reason: 'The asset has no ready text track' };
    // Include the changes that this transaction has made to the asset.
    const current = (await findAssetById(tx, asset.id))!;
    const job = await startRobotsJob(context, tx, current, { workflow, parameters }, { run, inputTrackId });
    return { reference_id, workflow, state: 'dispatched', job_id: job.id };
  } catch (error) {
    if (!isKinoraError(error, 'invalid_parameters') && !isKinoraError(error, 'conflict')) throw error;
    return { reference_id, workflow, state: 'failed', reason: error.message };
  }
};

const firstText = async (tx: Transaction, assetId: string): Promise<string | undefined> =>
  (await listTracks(tx, [assetId])).find(({ type, status }) => type === 'text' && status === 'ready')?.id;
