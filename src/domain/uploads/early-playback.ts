import type { AssetRequest } from '../../api/validate/create-asset.js';
import { roleOfInput } from '../../api/validate/inputs.js';
import type { EarlyPlaybackId, Row } from '../../db/schema.js';
import { lockUpload, saveEarlyPlaybackIds } from '../../db/tables/assets/upload.js';
import { newId } from '../../lib/ids.js';
import type { DomainContext } from '../context.js';
import { recordUploadEvent } from './record-upload-event.js';

/** The settings of an upload's asset. */
export type UploadSettings = AssetRequest;

/**
 * Whether settings allow an upload to play before it is complete. Quality `plus` and `normalize_audio` measure all of
 * the file; overlays are fetched when the asset exists; DRM keys are made for ready assets.
 */
export const allowsEarlyPlayback = (request: UploadSettings, upload: Row<'upload'>): boolean =>
  !request.normalizeAudio &&
  (request.videoQuality !== 'plus' || request.test || upload.is_test) &&
  !request.inputs.some((input, position) => roleOfInput(input, position) === 'overlay') &&
  newPlaybackIds(request).some(({ policy }) => policy !== 'drm');

/** One for each policy, in the order in which an asset gets them. */
export const newPlaybackIds = (request: UploadSettings): EarlyPlaybackId[] =>
  [...request.playbackPolicies.map((policy) => ({ policy })), ...request.advancedPlaybackPolicies].map(
    ({ policy }) => ({ id: newId(), policy }),
  );

/** Records that a waiting upload can be played. Returns false when it does not wait any more. */
export const announceEarlyPlayback = (
  context: Pick<DomainContext, 'database' | 'queue' | 'clock'>,
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
