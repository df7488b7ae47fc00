import type { Queryable } from '../db/database.js';
import type { Row } from '../db/schema.js';
import { saveEarlyPlayback } from '../db/tables/assets/asset-ingest.js';
import { lockUpload, updateUpload } from '../db/tables/assets/upload.js';
import { findEnvironment } from '../db/tables/server/environment.js';
import { checkReferences } from '../domain/assets/check-references.js';
import { insertNewAsset } from '../domain/assets/create-asset.js';
import type { DomainContext } from '../domain/context.js';
import { queues } from '../domain/queues.js';
import type { AssetRequest } from '../domain/requests/asset-request.js';
import { isKinoraError, KinoraError } from '../lib/errors.js';
import { endUpload } from './end-upload.js';
import { recordUploadEvent } from './record-upload-event.js';

/**
 * Called when the file is stored. Creates the asset and ends the upload in one transaction:
 * `asset_created`, or `errored` when something its settings refer to has been deleted. Returns the
 * resulting upload; one that had already ended is not changed.
 * @throws KinoraError `not_found`
 */
export const completeUpload = (context: DomainContext, uploadId: string): Promise<Row<'upload'>> =>
  context.database.transaction(async (tx) => {
    const upload = await lockUpload(tx, uploadId);
    if (!upload) throw new KinoraError('not_found');
    if (upload.status !== 'waiting') return upload;
    const request = await readUploadSettings(context, tx, upload);
    if (request instanceof KinoraError) {
      const error = { type: request.type, message: request.messages.join('; ') };
      return endUpload(context, tx, upload, { status: 'errored', error, event: 'video.upload.errored' });
    }
    await insertNewAsset(context, tx, {
      id: upload.target_asset_id,
      environmentId: upload.environment_id,
      uploadId,
      request: { ...request, settings: { ...request.settings, is_test: request.settings.is_test || upload.is_test } },
      requestId: upload.request_id ?? undefined,
      playbackIds: (upload.early_playback_ids ?? []).map(({ id }) => id),
    });
    const early = upload.early_playback_ids ? { status: 'played' as const } : upload.early_playback;
    if (early) await saveEarlyPlayback(tx, upload.target_asset_id, early);
    const created = await updateUpload(tx, uploadId, { status: 'asset_created' });
    await recordUploadEvent(context, tx, 'video.upload.asset_created', created);
    await context.queue.cancel(queues.timeOutUpload, uploadId, tx);
    return created;
  });

/** Validates the stored settings again as a request; returns its problems. */
export const readUploadSettings = async (
  context: Pick<DomainContext, 'wire' | 'assetHook'>,
  db: Queryable,
  upload: Row<'upload'>,
): Promise<AssetRequest | KinoraError> => {
  const quality = (await findEnvironment(db, upload.environment_id))!.default_video_quality;
  try {
    const { asset: request } = context.wire.readUpload({ new_asset_settings: upload.new_asset_settings }, quality);
    await checkReferences(context, db, upload.environment_id, request);
    return request;
  } catch (error) {
    if (isKinoraError(error, 'invalid_parameters')) return error;
    throw error;
  }
};
