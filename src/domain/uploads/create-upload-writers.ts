import type { Row } from '../../db/schema.js';
import { findUploadById } from '../../db/tables/assets/upload.js';
import { KinoraError } from '../../lib/errors.js';
import { assetPrefix, sourceKey } from '../../storage/keys.js';
import { completeUpload } from './complete-upload.js';
import { timeOutUpload } from './end-upload.js';
import { completeWriter, openWriter } from './open-writer.js';
import type { UploadLease } from './upload-leases.js';
import type { UploadContext, UploadWriter, UploadWriters } from './upload-writer.js';
import { createWriterPlaces } from './writer-places.js';

const follow = (signal: AbortSignal, controller: AbortController): void => {
  const abort = (): void => controller.abort(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort);
};

const gone = (): KinoraError => new KinoraError('gone');

export const createUploadWriters = (context: UploadContext): UploadWriters => {
  const { blobs, targets, leases, clock, database } = context;
  const db = database.queryable;
  const places = createWriterPlaces(clock);

  const open = async (uploadId: string): Promise<UploadWriter> => {
    const place = await places.take(uploadId);
    let lease: UploadLease | undefined;
    try {
      let upload = await findUploadById(db, uploadId);
      if (upload?.status === 'waiting' && leases) {
        lease = await leases.take(uploadId);
        follow(lease.signal, place.controller);
        // Another server may have ended it in the meantime.
        upload = await findUploadById(db, uploadId);
      }
      if (!upload) throw new KinoraError('not_found');
      upload = await settleWaiting(upload);
      if (upload.status === 'asset_created') {
        await lease?.release();
        return completeWriter(context, upload.total_bytes!, place);
      }
      if (upload.status !== 'waiting') throw gone();
      const target = await targets.open(upload, lease);
      return openWriter({
        ...{ context, upload, place, target, afterwards: () => afterwards(uploadId) },
        ...(lease && { lease }),
      });
    } catch (error) {
      place.leave();
      await lease?.release();
      throw error;
    }
  };

  /** Returns the upload after finishing what a crash or its expiry left undone. */
  const settleWaiting = async (upload: Row<'upload'>): Promise<Row<'upload'>> => {
    if (upload.status !== 'waiting') return upload;
    if (await blobs.stat(sourceKey(upload.target_asset_id))) return completeUpload(context, upload.id);
    if (upload.expires_at > clock.now()) return upload;
    const ended = await timeOutUpload(context, upload.id);
    if (ended.status === 'timed_out') await targets.drop(upload.id);
    return ended;
  };

  /** A transfer may outlast its upload; the outcome is decided when the transfer ends. */
  const afterwards = async (uploadId: string): Promise<void> => {
    const upload = await findUploadById(db, uploadId);
    const { status } = upload ? await settleWaiting(upload) : { status: 'cancelled' as const };
    // The purge after the end of the upload may have run while this writer still stored bytes.
    if (status === 'waiting' || status === 'asset_created') return;
    await targets.drop(uploadId);
    if (upload) await blobs.deletePrefix(assetPrefix(upload.target_asset_id));
  };

  return {
    open,
    isOpen: async (uploadId) => places.find(uploadId) !== undefined || ((await leases?.isHeld(uploadId)) ?? false),
    abort: async (uploadId) => {
      const place = places.find(uploadId);
      place?.controller.abort(gone());
      await leases?.end(uploadId);
      await place?.closed;
      await targets.drop(uploadId);
    },
    letGo: async (uploadId) => {
      await places.find(uploadId)?.closed;
      await targets.drop(uploadId);
    },
    settle: async (uploadId) => {
      if (places.find(uploadId)) return;
      const place = await places.take(uploadId);
      let lease: UploadLease | undefined;
      // This takes only a moment: a new sender waits for it.
      place.ending = true;
      try {
        lease = await leases?.takeIfFree(uploadId);
        if (leases && !lease) return;
        const upload = await findUploadById(db, uploadId);
        const settled = upload && (await settleWaiting(upload));
        // After a restart: what has arrived plays again before the next request.
        if (settled?.status === 'waiting' && settled.early_playback_ids)
          await (await targets.open(settled, lease)).suspend();
      } finally {
        place.leave();
        await lease?.release();
      }
    },
  };
};
