import type { Transaction } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import { removeTrack } from '../../db/tables/assets/track.js';
import { listBorrowedFiles } from '../../db/tables/assets/track-media.js';
import { invalidParameters, KinoraError } from '../../lib/errors.js';
import type { DomainContext } from '../context.js';
import { queues } from '../queues.js';
import { changeTracks } from './change-tracks.js';
import { recordTrackEvent } from './record-track-event.js';

/**
 * Removes a text or alternate audio track immediately; stops work on it, and removes its files in
 * the background.
 * @throws KinoraError `not_found`, `invalid_parameters`
 */
export const deleteTrack = (
  context: DomainContext,
  environmentId: string,
  assetId: string,
  trackId: string,
): Promise<void> =>
  changeTracks(context, environmentId, assetId, async ({ tx, asset, get }) => {
    if (asset.status !== 'ready') throw new KinoraError('not_found');
    const track = get(trackId);
    if (track.type === 'video') throw invalidParameters('The video track cannot be deleted');
    if (track.is_primary) throw invalidParameters('The primary audio track cannot be deleted');
    await dropTrack(context, tx, environmentId, track);
  });

/** Runs in a transaction that has locked the asset. */
export const dropTrack = async (
  context: Pick<DomainContext, 'clock' | 'wire' | 'queue' | 'assetHook'>,
  tx: Transaction,
  environmentId: string,
  track: Row<'track'>,
): Promise<void> => {
  const { id: trackId, asset_id: assetId } = track;
  await recordTrackEvent(context, tx, environmentId, 'deleted', { ...track, status: 'deleted' });
  const borrowed = (await listBorrowedFiles(tx, assetId)).filter(({ borrower }) => borrower === trackId);
  await removeTrack(tx, trackId);
  await cancelTrackWork(context, tx, trackId);
  await purgeTracks(context, tx, [{ assetId, trackId }, ...borrowed]);
  await context.assetHook?.onChanged(context, tx, assetId);
};

/** Stops the work on a track that is being removed. */
export const cancelTrackWork = async (
  { queue }: Pick<DomainContext, 'queue'>,
  tx: Transaction,
  trackId: string,
): Promise<void> => {
  for (const name of [queues.ingestTrack, queues.recognizeSpeech]) await queue.cancel(name, trackId, tx);
};

/**
 * Removes the files of deleted tracks unless something still plays them. Each call enqueues new
 * jobs, because a running one may have found the files in use.
 */
export const purgeTracks = async (
  { queue }: Pick<DomainContext, 'queue'>,
  tx: Transaction,
  tracks: readonly { readonly assetId: string; readonly trackId: string }[],
): Promise<void> => {
  for (const { assetId, trackId } of tracks) await queue.enqueue(queues.purgeTrack, { assetId, trackId }, {}, tx);
};
