import type { Row } from '../db/schema.js';
import { lockUpload } from '../db/tables/assets/upload.js';
import type { DomainContext } from '../domain/context.js';
import { KinoraError } from '../lib/errors.js';
import { endUpload } from './end-upload.js';
import { getUpload } from './get-upload.js';
import type { UploadSessions } from './upload-sessions.js';

/**
 * Cancels a waiting upload and aborts a request that is sending its file.
 * @throws KinoraError `not_found`; `forbidden` when it has already ended
 */
export const cancelUpload = async (
  context: DomainContext,
  sessions: UploadSessions,
  environmentId: string,
  uploadId: string,
): Promise<Row<'upload'>> => {
  await getUpload(context, environmentId, uploadId);
  const cancelled = await context.database.transaction(async (tx) => {
    const upload = await lockUpload(tx, uploadId);
    if (!upload) throw new KinoraError('not_found');
    if (upload.status !== 'waiting')
      throw new KinoraError('forbidden', { messages: ['cancellation no longer possible'] });
    return endUpload(context, tx, upload, { status: 'cancelled', event: 'video.upload.cancelled' });
  });
  await sessions.abort(uploadId);
  return cancelled;
};
