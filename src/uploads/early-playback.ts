import type { EarlyPlaybackId, Row } from '../db/schema.js';
import { lockUpload, saveEarlyPlaybackIds } from '../db/tables/assets/upload.js';
import type { DomainContext } from '../domain/context.js';
import type { AssetRequest } from '../domain/requests/asset-request.js';
import { roleOfInput } from '../domain/requests/inputs.js';
import { newId } from '../lib/ids.js';
import { recordUploadEvent } from './record-upload-event.js';

/** Why settings don't allow an upload to play before it is complete; undefined when they do. */
export const whySettingsStoreFirst = (request: AssetRequest, upload: Row<'upload'>): string | undefined => {
  if (request.settings.normalize_audio) return 'normalize_audio measures the loudness of all of the audio';
  if (request.settings.video_quality === 'plus' && !request.settings.is_test && !upload.is_test)
    return 'quality plus measures the whole file';
  if (request.inputs.some((input, position) => roleOfInput(input, position) === 'overlay'))
    return 'overlays are fetched when the upload is complete';
  return newPlaybackIds(request).some(({ policy }) => policy !== 'drm')
    ? undefined
    : 'the asset has no playback ID other than DRM, whose keys are made when it is ready';
};

/** One for each policy, in the order in which an asset gets them. */
export const newPlaybackIds = (request: AssetRequest): EarlyPlaybackId[] =>
  [...request.playbackPolicies.map((policy) => ({ policy })), ...request.advancedPlaybackPolicies].map(
    ({ policy }) => ({ id: newId(), policy }),
  );

/** Records that a waiting upload can be played. Returns false when it does not wait any more. */
export const announceEarlyPlayback = (
  context: Pick<DomainContext, 'database' | 'queue' | 'clock' | 'wire'>,
  uploadId: string,
  playbackIds: readonly EarlyPlaybackId[],
): Promise<boolean> =>
  context.database.transaction(async (tx) => {
    const upload = await lockUpload(tx, uploadId);
    if (upload?.status !== 'waiting') return false;
    if (upload.early_playback_ids) return true;
    const announced = await saveEarlyPlaybackIds(tx, uploadId, playbackIds);
    await recordUploadEvent(context, tx, 'video.upload.playable', announced);
    return true;
  });

/** Takes back the playback IDs of an upload that can't be played any more. */
export const retractEarlyPlayback = async (
  { database }: Pick<DomainContext, 'database'>,
  uploadId: string,
): Promise<void> => {
  await database.transaction(async (tx) => {
    const upload = await lockUpload(tx, uploadId);
    if (upload?.status === 'waiting' && upload.early_playback_ids) await saveEarlyPlaybackIds(tx, uploadId, null);
  });
};
