import type { Transaction } from '../db/database.js';
import type { Row, UploadStatus } from '../db/schema.js';
import { lockUpload, updateUpload } from '../db/tables/assets/upload.js';
import type { DomainContext } from '../domain/context.js';
import { queues } from '../domain/queues.js';
import { KinoraError } from '../lib/errors.js';
import { recordUploadEvent, type UploadEventType } from './record-upload-event.js';

export interface UploadError {
  readonly type: string;
  readonly message: string;
}

interface End {
  readonly status: Exclude<UploadStatus, 'waiting' | 'asset_created'>;
  readonly error?: UploadError;
  readonly event?: UploadEventType;
}

/**
 * Ends a waiting upload without an asset, in the caller's transaction, and removes what was
 * received.
 */
export const endUpload = async (
  context: DomainContext,
  tx: Transaction,
  upload: Row<'upload'>,
  { status, error, event }: End,
): Promise<Row<'upload'>> => {
  const ended = await updateUpload(tx, upload.id, { status, ...(error && { error }) });
  if (event) await recordUploadEvent(context, tx, event, ended);
  await context.queue.cancel(queues.timeOutUpload, upload.id, tx);
  const assetId = upload.target_asset_id;
  await context.queue.enqueue(queues.purgeAsset, { assetId }, {}, tx);
  return ended;
};

const endIfWaiting = (context: DomainContext, uploadId: string, end: End): Promise<Row<'upload'>> =>
  context.database.transaction(async (tx) => {
    const upload = await lockUpload(tx, uploadId);
    if (!upload) throw new KinoraError('not_found');
    return upload.status === 'waiting' ? endUpload(context, tx, upload, end) : upload;
  });

/**
 * Returns the resulting upload, which may have ended in another way before. No event is recorded.
 * @throws KinoraError `not_found`
 */
export const timeOutUpload = (context: DomainContext, uploadId: string): Promise<Row<'upload'>> =>
  endIfWaiting(context, uploadId, { status: 'timed_out' });

/**
 * Returns the resulting upload, which may have ended in another way before.
 * @throws KinoraError `not_found`
 */
export const failUpload = (context: DomainContext, uploadId: string, error: UploadError): Promise<Row<'upload'>> =>
  endIfWaiting(context, uploadId, { status: 'errored', error, event: 'video.upload.errored' });
