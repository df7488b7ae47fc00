import type { Row } from '../db/schema.js';
import { insertUpload } from '../db/tables/assets/upload.js';
import { checkReferences } from '../domain/assets/check-references.js';
import type { DomainContext } from '../domain/context.js';
import { queues } from '../domain/queues.js';
import type { UploadRequest } from '../domain/requests/asset-request.js';
import { newId } from '../lib/ids.js';
import { recordUploadEvent } from './record-upload-event.js';

/**
 * Creates an upload that waits for its file, and the job that expires it. `requestId` names the
 * request that asked for it.
 * @throws KinoraError `invalid_parameters` when the settings refer to something that does not exist
 * or is not supported
 */
export const createUpload = async (
  context: DomainContext,
  environmentId: string,
  request: UploadRequest,
  requestId?: string,
): Promise<Row<'upload'>> => {
  await checkReferences(context, context.database.queryable, environmentId, request.asset);
  const createdAt = context.clock.now();
  const expiresAt = new Date(createdAt.getTime() + request.timeoutSeconds * 1000);
  return context.database.transaction(async (tx) => {
    const upload = await insertUpload(tx, {
      id: newId(),
      environment_id: environmentId,
      created_at: createdAt,
      timeout_seconds: request.timeoutSeconds,
      expires_at: expiresAt,
      cors_origin: request.corsOrigin,
      new_asset_settings: JSON.stringify(request.newAssetSettings),
      is_test: request.test,
      target_asset_id: newId(),
      total_bytes: null,
      error: null,
      early_playback_ids: null,
      early_playback: null,
      request_id: requestId ?? null,
    });
    const { id: uploadId } = upload;
    await context.queue.enqueue(queues.timeOutUpload, { uploadId }, { runAt: expiresAt }, tx);
    await recordUploadEvent(context, tx, 'video.upload.created', upload);
    return upload;
  });
};
