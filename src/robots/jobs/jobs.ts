import type { Transaction } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import { findAssetById, lockAssetForUpdate } from '../../db/tables/assets/asset.js';
import { listTracks } from '../../db/tables/assets/track.js';
import type { DomainContext } from '../../domain/context.js';
import { KinoraError } from '../../lib/errors.js';
import { isId, isPrefixedId, newId, newPrefixedId, newUuid } from '../../lib/ids.js';
import { isSameLanguage } from '../../media/speech/languages.js';
import type { RobotsJobView } from '../api/serialize.js';
import type { RobotsJobQuery, RobotsJobRequest } from '../api/validate-job.js';
import { robotsQueues } from '../queues.js';
import {
  countRobotsJobs,
  findEquivalentJob,
  findRobotsJob,
  insertRobotsJob,
  listRobotsJobs as listJobRows,
} from '../tables/robots-job.js';
import { cancelJobWork, changeJob } from './job-state.js';
import { recordJobEvent } from './robots-events.js';
import { viewRobotsJob } from './view-job.js';

type Job = Row<'robots_job'>;
type Context = Pick<DomainContext, 'clock' | 'queue' | 'artifactUrls' | 'apiUrl'>;

const invalid = (message: string): KinoraError => new KinoraError('invalid_parameters', { messages: [message] });
const jobNotFound = (): KinoraError => new KinoraError('not_found', { messages: ['Job not found'] });

/** @throws KinoraError `not_found`, `invalid_parameters`, `conflict` */
export const createRobotsJob = (
  context: DomainContext,
  environmentId: string,
  request: RobotsJobRequest,
): Promise<RobotsJobView> =>
  context.database.transaction(async (tx) => {
    const { asset_id: assetId } = request.parameters;
    const asset = isId(assetId) ? await lockAssetForUpdate(tx, environmentId, assetId) : undefined;
    if (!asset) throw new KinoraError('not_found', { messages: ['Asset not found'] });
    return viewRobotsJob(context, await startRobotsJob(context, tx, asset, request), asset);
  });

export interface JobOrigin {
  readonly run: Pick<Row<'directive_run'>, 'id' | 'directive_id'>;
  /** The track that the run chose for it. */
  readonly inputTrackId: string | undefined;
}

/**
 * Queues a job on an asset that is locked.
 * @throws KinoraError `invalid_parameters` when the asset does not meet the workflow's
 * requirements, `conflict`
 */
export const startRobotsJob = async (
  context: Context,
  tx: Transaction,
  asset: Row<'asset'>,
  { workflow, parameters, passthrough }: RobotsJobRequest,
  origin?: JobOrigin,
): Promise<Job> => {
  await checkAsset(tx, asset, { workflow, parameters });
  if (await findEquivalentJob(tx, { asset_id: asset.id, workflow, parameters }))
    throw new KinoraError('conflict', { messages: ['An equivalent job is already in progress'] });
  const createdAt = context.clock.now();
  const job = await insertRobotsJob(tx, {
    id: newPrefixedId('rjob'),
    internal_id: newUuid(),
    environment_id: asset.environment_id,
    asset_id: asset.id,
    workflow,
    created_at: createdAt,
    updated_at: createdAt,
    parameters: JSON.stringify(parameters),
    passthrough: passthrough ?? null,
    directive_id: origin?.run.directive_id ?? null,
    run_id: origin?.run.id ?? null,
    input_track_id: origin?.inputTrackId ?? null,
    new_track_id: newId(),
    prompts: null,
    outputs: null,
    files: null,
    error: null,
  });
  await recordJobEvent(context, tx, job);
  await context.queue.enqueue(robotsQueues.runWorkflow, { jobId: job.id }, {}, tx);
  return job;
};

const NEEDS_VIDEO: readonly string[] = ['find-best-thumbnails', 'find-scenes'];

/** @throws KinoraError `invalid_parameters` */
const checkAsset = async (
  tx: Transaction,
  asset: Row<'asset'>,
  { workflow, parameters }: Pick<RobotsJobRequest, 'workflow' | 'parameters'>,
): Promise<void> => {
  if (asset.status !== 'ready' || asset.is_live) throw invalid('Asset is not ready');
  const needsVideo =
    NEEDS_VIDEO.includes(workflow) || (workflow === 'find-key-moments' && parameters.use_shots === true);
  if (needsVideo && asset.resolution_tier === 'audio-only') throw invalid('Asset has no video');
  const texts = (await listTracks(tx, [asset.id])).filter(({ type }) => type === 'text');
  const { track_id: trackId, to_language_code: target, language_code: language } = parameters;
  if (trackId !== undefined && !texts.some(({ id, status }) => id === trackId && status === 'ready'))
    throw invalid('parameters.track_id does not refer to a ready text track');
  const has = (code: unknown) =>
    texts.some(({ language_code, status }) => isSameLanguage(language_code, code as string) && status !== 'errored');
  if (workflow === 'translate-captions' && has(target))
    throw invalid(`Asset already has a text track in the language ${target}`);
  const isNewTrack = parameters.upload_to_mux !== false && parameters.replace_existing !== true;
  if (workflow === 'generate-premium-captions' && isNewTrack && language !== undefined && has(language))
    throw invalid(`Asset already has a text track in the language ${language}`);
};

/**
 * Of any workflow when none is given.
 * @throws KinoraError `not_found`
 */
export const getRobotsJob = async (
  context: DomainContext,
  environmentId: string,
  jobId: string,
  workflow: string,
): Promise<RobotsJobView> => {
  const db = context.database.queryable;
  const job = isPrefixedId('rjob', jobId) ? await findRobotsJob(db, environmentId, jobId) : undefined;
  if (job?.workflow !== workflow) throw jobNotFound();
  return viewRobotsJob(context, job, await findAssetById(db, job.asset_id));
};

/** Newest first. */
export const listRobotsJobs = async (
  { database }: DomainContext,
  environmentId: string,
  { page, ...filter }: RobotsJobQuery,
): Promise<{ jobs: Job[]; total: number }> => {
  if (filter.assetId !== undefined && !isId(filter.assetId)) return { jobs: [], total: 0 };
  const db = database.queryable;
  return {
    jobs: await listJobRows(db, environmentId, { ...filter, ...page }),
    total: await countRobotsJobs(db, environmentId, filter),
  };
};

/** @throws KinoraError `not_found`, `conflict` when it has ended */
export const cancelRobotsJob = (context: DomainContext, environmentId: string, jobId: string): Promise<Job> =>
  context.database.transaction(async (tx) => {
    const job = isPrefixedId('rjob', jobId) ? await findRobotsJob(tx, environmentId, jobId) : undefined;
    if (!job) throw jobNotFound();
    const cancelled = await changeJob(context, tx, jobId, ['pending', 'processing'], { status: 'cancelled' });
    if (!cancelled) throw new KinoraError('conflict', { messages: ['Job is already in a terminal state'] });
    await cancelJobWork(context, tx, jobId);
    return cancelled;
  });
