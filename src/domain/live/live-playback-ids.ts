import { lockLiveStream } from '../../db/tables/live/live-stream.js';
import { findPlaybackId, removeLivePlaybackId } from '../../db/tables/playback/playback-id.js';
import { KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import { Problems } from '../../lib/problems.js';
import type { OwnedPlaybackId, PlaybackIdRecord } from '../asset-view/asset-view.js';
import type { DomainContext } from '../context.js';
import { checkDrmConfiguration } from '../drm/configurations.js';
import { makePlaybackIds } from '../playback/playback-ids.js';
import type { NewPlaybackId } from '../requests/asset-request.js';
import { recordLiveEvent } from './record-live-event.js';

/** @throws KinoraError `not_found` without the live stream, `invalid_parameters` */
export const createLivePlaybackId = (
  context: DomainContext,
  environmentId: string,
  liveStreamId: string,
  request: NewPlaybackId,
): Promise<PlaybackIdRecord> =>
  context.database.transaction(async (tx) => {
    if ((await lockLiveStream(tx, liveStreamId))?.environment_id !== environmentId) throw new KinoraError('not_found');
    const problems = new Problems();
    await checkDrmConfiguration(tx, environmentId, request, [], problems);
    problems.throwIfAny(request);
    const owner = { environmentId, liveStreamId, createdAt: context.clock.now() };
    const [created] = await makePlaybackIds(tx, owner, [request]);
    await recordLiveEvent(context, tx, 'updated', liveStreamId);
    return created!;
  });

/** @throws KinoraError `not_found` */
export const getLivePlaybackId = async (
  context: DomainContext,
  environmentId: string,
  liveStreamId: string,
  playbackId: string,
): Promise<OwnedPlaybackId> => {
  const row = isId(playbackId)
    ? await findPlaybackId(context.database.queryable, environmentId, playbackId)
    : undefined;
  if (row?.live_stream_id !== liveStreamId) throw new KinoraError('not_found');
  return row;
};

/**
 * A broadcast goes on; new viewers get 404 immediately.
 * @throws KinoraError `not_found`
 */
export const deleteLivePlaybackId = async (
  context: DomainContext,
  environmentId: string,
  liveStreamId: string,
  playbackId: string,
): Promise<void> => {
  if (!isId(liveStreamId) || !isId(playbackId)) throw new KinoraError('not_found');
  await context.database.transaction(async (tx) => {
    if (!(await removeLivePlaybackId(tx, environmentId, liveStreamId, playbackId))) throw new KinoraError('not_found');
    await recordLiveEvent(context, tx, 'updated', liveStreamId);
  });
  context.onPlaybackIdDeleted(playbackId);
};
