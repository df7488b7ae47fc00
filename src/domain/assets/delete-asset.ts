import { findAssetById, findEnvironmentOf, lockAsset, removeAsset } from '../../db/tables/assets/asset.js';
import { isSourceUsed, lockSourceUses } from '../../db/tables/assets/clip.js';
import { findShots } from '../../db/tables/assets/shots.js';
import { listStaticRenditions } from '../../db/tables/assets/static-rendition.js';
import { listTracks } from '../../db/tables/assets/track.js';
import { listBorrowedFiles } from '../../db/tables/assets/track-media.js';
import { listPlaybackIds } from '../../db/tables/playback/playback-id.js';
import { keepDeletedAsset } from '../../db/tables/playback/usage.js';
import { KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import { recordAssetEvent } from '../asset-view/record-asset-event.js';
import type { DomainContext } from '../context.js';
import { queues } from '../queues.js';
import { cancelTrackWork, purgeTracks } from '../tracks/delete-track.js';
import { cancelMaster } from './master-access.js';

/**
 * Deletes an asset in any state: removes its rows immediately, stops a running ingest, and removes
 * files in the background.
 * @throws KinoraError `not_found`; `invalid_parameters` while a live stream is recorded into it
 */
export const deleteAsset = async (context: DomainContext, environmentId: string, assetId: string): Promise<void> => {
  if (!isId(assetId)) throw new KinoraError('not_found');
  const playbackIds = await context.database.transaction(async (tx) => {
    if (!(await lockAsset(tx, environmentId, assetId, 'forRemoval'))) throw new KinoraError('not_found');
    const asset = (await findAssetById(tx, assetId))!;
    if (asset.is_live)
      throw new KinoraError('invalid_parameters', {
        messages: ['The asset is being recorded; complete the live stream first'],
      });
    const removedIds = await listPlaybackIds(tx, [assetId]);
    await recordAssetEvent(context, tx, 'video.asset.deleted', assetId);
    await keepDeletedAsset(tx, assetId, context.clock.now());
    const used = await lockSourceUses(tx, assetId);
    const tracks = await listTracks(tx, [assetId]);
    const borrowed = await listBorrowedFiles(tx, assetId);
    const renditions = await listStaticRenditions(tx, [assetId]);
    await cancelMaster(context, tx, asset);
    const shots = await findShots(tx, assetId);
    if (shots) await context.queue.cancel(queues.findShots, shots.order_id, tx);
    await context.assetHook?.beforeRemoval(context, tx, assetId);
    await removeAsset(tx, assetId);
    for (const queue of [queues.ingest, queues.transcode, queues.readEmbeddedText, queues.prepareAv1])
      await context.queue.cancel(queue, assetId, tx);
    for (const { id, status } of tracks) if (status === 'preparing') await cancelTrackWork(context, tx, id);
    for (const { id, status } of renditions)
      if (status === 'preparing') await context.queue.cancel(queues.makeRendition, id, tx);
    await context.queue.enqueue(queues.purgeAsset, { assetId }, {}, tx);
    // If clips keep the files of the asset, the files of each track are removed separately once no
    // clip plays them.
    const own = (await isSourceUsed(tx, assetId)) ? tracks.map(({ id: trackId }) => ({ assetId, trackId })) : [];
    await purgeTracks(context, tx, [...own, ...borrowed]);
    // A clip may have been the last user of the files of an asset that was deleted before. This
    // needs a new job, because a running one may have found the files in use.
    for (const ownerId of used) {
      if (!(await findAssetById(tx, ownerId)) && !(await isSourceUsed(tx, ownerId)))
        await context.queue.enqueue(queues.purgeAsset, { assetId: ownerId }, { again: true }, tx);
    }
    return removedIds.map(({ id }) => id);
  });
  context.onAssetDeleted(assetId, playbackIds);
};

/**
 * Runs when a test asset's day has passed; it is not an error if the owner deleted the asset
 * before.
 */
export const deleteTestAsset = async (context: DomainContext, assetId: string): Promise<void> => {
  const environmentId = await findEnvironmentOf(context.database.queryable, assetId);
  if (environmentId !== undefined) await deleteAsset(context, environmentId, assetId);
};
