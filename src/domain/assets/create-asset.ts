import type { Transaction } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import { insertAsset } from '../../db/tables/assets/asset.js';
import { insertAssetInputs } from '../../db/tables/assets/asset-input.js';
import { newId } from '../../lib/ids.js';
import { viewMaster } from '../asset-view/artifacts.js';
import type { AssetView } from '../asset-view/asset-view.js';
import { recordAssetEvent, recordAssetWarning } from '../asset-view/record-asset-event.js';
import type { DomainContext } from '../context.js';
import { makePlaybackIds } from '../playback/playback-ids.js';
import { queues } from '../queues.js';
import { insertRequestedRenditions, recordRenditionEvent } from '../renditions/static-renditions.js';
import type { AssetRequest } from '../requests/asset-request.js';
import { insertSideCars } from '../tracks/side-cars.js';
import { checkBucket, checkReferences } from './check-references.js';
import { attachClip, clippedAssetId, findRecordedSource, type RecordedSource } from './clip-source.js';
import { copyTracks } from './copy-tracks.js';

const TEST_ASSET_LIFETIME_MS = 24 * 3600 * 1000;

/**
 * Creates an asset and queues its ingest in one transaction. `requestId` names the request that
 * asked for it.
 * @throws KinoraError `invalid_parameters` when something it refers to does not exist
 */
export const createAsset = async (
  context: DomainContext,
  environmentId: string,
  request: AssetRequest,
  requestId?: string,
): Promise<AssetView> => {
  checkBucket(context.sourceBuckets, request);
  const recorded = await findRecordedSource(context, environmentId, request);
  return context.database.transaction(async (tx) => {
    await checkReferences(context, tx, environmentId, request, recorded);
    return insertNewAsset(context, tx, { id: newId(), environmentId, uploadId: null, request, requestId, recorded });
  });
};

/** How an encoder sends: over RTMP or RTMPS, SRT, or WebRTC. */
export type IngestProtocol = 'rtmp' | 'srt' | 'whip';

export interface NewAsset {
  readonly id: string;
  readonly environmentId: string;
  /** The direct upload that received the source; null when the source will be downloaded. */
  readonly uploadId: string | null;
  readonly request: AssetRequest;
  /** Reserved before, one for each policy; without them, new ones are made. */
  readonly playbackIds?: readonly string[];
  readonly requestId?: string | undefined;
  /** Of a clip whose source is on air. */
  readonly recorded?: RecordedSource | undefined;
  /** The live stream whose broadcast is recorded; the recording queues the ingest when it ends. */
  readonly live?: { readonly liveStreamId: string; readonly protocol: IngestProtocol; readonly startedAt: Date };
}

/**
 * Creates the asset of a checked request, queues its ingest and records its creation in the
 * caller's transaction.
 */
export const insertNewAsset = async (
  context: Pick<DomainContext, 'queue' | 'clock' | 'wire' | 'artifactUrls'>,
  tx: Transaction,
  { id: assetId, environmentId, uploadId, request, playbackIds: reserved = [], requestId, live, recorded }: NewAsset,
): Promise<AssetView> => {
  const { settings } = request;
  const createdAt = context.clock.now();
  const clippedId = uploadId === null && !live ? clippedAssetId(request) : undefined;
  const asset = await insertAsset(tx, {
    id: assetId,
    environment_id: environmentId,
    created_at: createdAt,
    ingest_type: live ? `live_${live.protocol}` : ingestType(uploadId, clippedId),
    upload_id: uploadId,
    source_asset_id: clippedId ?? null,
    ...settings,
    meta: settings.meta && JSON.stringify(settings.meta),
    directives: settings.directives && JSON.stringify(settings.directives),
    static_renditions_status: settings.mp4_support === 'none' ? null : 'preparing',
    request_id: requestId ?? null,
    ...(live && liveColumns(live)),
  });
  const clip = clippedId !== undefined && { id: assetId, sourceId: clippedId };
  if (clip) await attachClip(tx, environmentId, clip, request, recorded);
  await insertAssetInputs(tx, assetId, request.inputs);
  const names = await insertSideCars(tx, assetId, request.inputs);
  const pending = clip ? await copyTracks(tx, clip, names) : [];
  const renditions = await insertRequestedRenditions(context, tx, assetId, request.staticRenditions);
  const policies = [...request.playbackPolicies.map((policy) => ({ policy })), ...request.advancedPlaybackPolicies];
  const playbackIds = await makePlaybackIds(tx, { environmentId, assetId, createdAt }, policies, reserved);
  if (!live) await context.queue.enqueue(queues.ingest, { assetId }, {}, tx);
  if (settings.is_test) await limitTestAsset(context, tx, asset);
  await recordAssetEvent(context, tx, 'video.asset.created', assetId);
  if (pending.length > 0) await recordAssetWarning(context, tx, asset, describePending(pending));
  for (const rendition of renditions) await recordRenditionEvent(context, tx, environmentId, 'created', rendition);
  return { asset, playbackIds, tracks: [], master: viewMaster(context, asset), renditions };
};

const liveColumns = ({ liveStreamId, startedAt }: NonNullable<NewAsset['live']>) => ({
  live_stream_id: liveStreamId,
  is_live: true,
  progress_state: 'live' as const,
  progress: -1,
  recording_times: JSON.stringify([{ started_at: startedAt.toISOString(), type: 'content' }]),
});

const MAX_NAMES = 10;

const describePending = (names: readonly string[]): { readonly type: string; readonly message: string } => {
  const more = names.length > MAX_NAMES ? [`${names.length - MAX_NAMES} more`] : [];
  const list = [...names.slice(0, MAX_NAMES), ...more].join(', ');
  const message = `The clip lacks tracks that were not ready in its source: ${list}. Create the clip again when they are.`;
  return { type: 'tracks_missing', message };
};

/** Queues the deletion of a test asset. */
export const limitTestAsset = async (
  { queue }: Pick<DomainContext, 'queue'>,
  tx: Transaction,
  { id: assetId, created_at: createdAt }: Pick<Row<'asset'>, 'id' | 'created_at'>,
): Promise<void> => {
  const runAt = new Date(createdAt.getTime() + TEST_ASSET_LIFETIME_MS);
  await queue.enqueue(queues.deleteTestAsset, { assetId }, { runAt }, tx);
};

const ingestType = (uploadId: string | null, clippedId: string | undefined): Row<'asset'>['ingest_type'] => {
  if (uploadId !== null) return 'on_demand_direct_upload';
  return clippedId === undefined ? 'on_demand_url' : 'on_demand_clip';
};
