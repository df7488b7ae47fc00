import type { Transaction } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import { lockLiveStream, removeLiveStream, updateLiveStreamRow } from '../../db/tables/live/live-stream.js';
import { listLivePlaybackIds } from '../../db/tables/playback/playback-id.js';
import { KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import type { DomainContext } from '../context.js';
import { endBroadcast } from './end-broadcast.js';
import { recordLiveEvent } from './record-live-event.js';

/**
 * Ends the broadcast, if there is one. Its encoder may stay connected for a while.
 * @throws KinoraError `not_found`
 */
export const completeLiveStream = async (context: DomainContext, environmentId: string, id: string): Promise<void> => {
  const assetId = await withLiveStream(context, environmentId, id, async (_, { active_asset_id }) => active_asset_id);
  if (assetId === null) return;
  if (await context.live.complete(id)) await endAbandoned(context, environmentId, id, assetId);
};

/**
 * Ends the broadcast, if there is one, disconnects its encoder and refuses others.
 * @throws KinoraError `not_found`
 */
export const disableLiveStream = async (context: DomainContext, environmentId: string, id: string): Promise<void> => {
  const assetId = await withLiveStream(context, environmentId, id, async (tx, stream) => {
    if (stream.status !== 'disabled') {
      await updateLiveStreamRow(tx, id, { status: 'disabled' });
      await recordLiveEvent(context, tx, 'disabled', id);
    }
    return stream.active_asset_id;
  });
  const isEnded = await context.live.disconnect(id, 'disabled');
  if (isEnded && assetId !== null) await endAbandoned(context, environmentId, id, assetId);
};

/** Does nothing unless the live stream is disabled. @throws KinoraError `not_found` */
export const enableLiveStream = (context: DomainContext, environmentId: string, id: string): Promise<void> =>
  withLiveStream(context, environmentId, id, async (tx, { status }) => {
    if (status !== 'disabled') return;
    await updateLiveStreamRow(tx, id, { status: 'idle' });
    await recordLiveEvent(context, tx, 'enabled', id);
  });

/**
 * Also ends its broadcast and disconnects its encoder. Assets stay.
 * @throws KinoraError `not_found`; `unavailable` while the recording can't be stored
 */
export const deleteLiveStream = async (context: DomainContext, environmentId: string, id: string): Promise<void> => {
  await withLiveStream(context, environmentId, id, async () => undefined);
  // Without its live stream, nothing would complete the recording.
  if (!(await context.live.disconnect(id, 'deleted')))
    throw new KinoraError('unavailable', { details: { reason: 'the recording is not stored yet' } });
  const { playbackIds, assetId } = await withLiveStream(context, environmentId, id, async (tx, stream) => {
    await endBroadcast(context, tx, stream);
    const ids = await listLivePlaybackIds(tx, id);
    await recordLiveEvent(context, tx, 'deleted', id);
    await removeLiveStream(tx, id);
    return { playbackIds: ids, assetId: stream.active_asset_id };
  });
  for (const playbackId of playbackIds) context.onPlaybackIdDeleted(playbackId);
  if (assetId !== null) context.onPlayableChanged(assetId);
  // An encoder may have connected between the two.
  await context.live.disconnect(id, 'deleted');
};

/** Ends a broadcast that no server holds any more. */
const endAbandoned = async (
  context: DomainContext,
  environmentId: string,
  id: string,
  assetId: string,
): Promise<void> => {
  const ended = await withLiveStream(context, environmentId, id, async (tx, stream) =>
    stream.active_asset_id === assetId ? endBroadcast(context, tx, stream) : false,
  );
  if (ended) context.onPlayableChanged(assetId);
};

const withLiveStream = async <T>(
  context: DomainContext,
  environmentId: string,
  id: string,
  task: (tx: Transaction, stream: Row<'live_stream'>) => Promise<T>,
): Promise<T> => {
  if (!isId(id)) throw new KinoraError('not_found');
  return context.database.transaction(async (tx) => {
    const stream = await lockLiveStream(tx, id);
    if (stream?.environment_id !== environmentId) throw new KinoraError('not_found');
    return task(tx, stream);
  });
};
