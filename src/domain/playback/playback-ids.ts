import type { Transaction } from '../../db/database.js';
import { lockAsset } from '../../db/tables/assets/asset.js';
import {
  findPlaybackId,
  insertPlaybackIds,
  removePlaybackId,
  removePlaybackIds,
} from '../../db/tables/playback/playback-id.js';
import { KinoraError } from '../../lib/errors.js';
import { isId, newId } from '../../lib/ids.js';
import { Problems } from '../../lib/problems.js';
import type { OwnedPlaybackId, PlaybackIdRecord } from '../asset-view/asset-view.js';
import { recordAssetEvent } from '../asset-view/record-asset-event.js';
import type { DomainContext } from '../context.js';
import { checkDrmConfiguration } from '../drm/configurations.js';
import type { NewPlaybackId } from '../requests/asset-request.js';

/**
 * One id per policy, duplicates included; they belong to the asset or the live stream. `reserved`
 * are the IDs of the first ones.
 */
export const makePlaybackIds = (
  tx: Transaction,
  owner: { environmentId: string; createdAt: Date; assetId?: string; liveStreamId?: string },
  policies: readonly NewPlaybackId[],
  reserved: readonly string[] = [],
): Promise<PlaybackIdRecord[]> =>
  insertPlaybackIds(
    tx,
    policies.map(({ policy, drm_configuration_id }, position) => ({
      id: reserved[position] ?? newId(),
      asset_id: owner.assetId ?? null,
      live_stream_id: owner.liveStreamId ?? null,
      environment_id: owner.environmentId,
      policy,
      drm_configuration_id: drm_configuration_id ?? null,
      created_at: owner.createdAt,
    })),
  );

/** @throws KinoraError `not_found` without the asset, `invalid_parameters` */
export const createPlaybackId = async (
  context: DomainContext,
  environmentId: string,
  assetId: string,
  request: NewPlaybackId,
): Promise<PlaybackIdRecord> => {
  return context.database.transaction(async (tx) => {
    if (!(await lockAsset(tx, environmentId, assetId, 'forChild'))) throw new KinoraError('not_found');
    const problems = new Problems();
    await checkDrmConfiguration(tx, environmentId, request, [], problems);
    problems.throwIfAny(request);
    const owner = { environmentId, assetId, createdAt: context.clock.now() };
    const [created] = await makePlaybackIds(tx, owner, [request]);
    await recordAssetEvent(context, tx, 'video.asset.updated', assetId);
    return created!;
  });
};

/**
 * Without `assetId`, searches all assets and live streams.
 * @throws KinoraError `not_found`
 */
export const getPlaybackId = async (
  context: DomainContext,
  environmentId: string,
  playbackId: string,
  assetId?: string,
): Promise<OwnedPlaybackId> => {
  const row = isId(playbackId)
    ? await findPlaybackId(context.database.queryable, environmentId, playbackId)
    : undefined;
  if (!row || (assetId !== undefined && row.asset_id !== assetId)) throw new KinoraError('not_found');
  return row;
};

/**
 * New requests for the stream get 404 immediately.
 * @throws KinoraError `not_found`
 */
export const deletePlaybackId = async (
  context: DomainContext,
  environmentId: string,
  assetId: string,
  playbackId: string,
): Promise<void> => {
  if (!isId(assetId) || !isId(playbackId)) throw new KinoraError('not_found');
  await context.database.transaction(async (tx) => {
    if (!(await removePlaybackId(tx, environmentId, assetId, playbackId))) throw new KinoraError('not_found');
    await recordAssetEvent(context, tx, 'video.asset.updated', assetId);
  });
  context.onPlaybackIdDeleted(playbackId);
};

/**
 * Removes every playback ID of an asset in an open transaction; viewers lose access within seconds.
 */
export const removePlaybackIdsOf = async (
  context: Pick<DomainContext, 'clock' | 'wire' | 'artifactUrls'>,
  tx: Transaction,
  assetId: string,
): Promise<string[]> => {
  const removed = await removePlaybackIds(tx, assetId);
  if (removed.length > 0) await recordAssetEvent(context, tx, 'video.asset.updated', assetId);
  return removed;
};
