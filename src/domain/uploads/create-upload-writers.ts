import type { Row } from '../../db/schema.js';
import { findUploadById } from '../../db/tables/assets/upload.js';
import { KinoraError } from '../../lib/errors.js';
import { assetPrefix, sourceKey } from '../../storage/keys.js';
import { completeUpload } from './complete-upload.js';
import { timeOutUpload } from './end-upload.js';
import { completeWriter, openWriter } from './open-writer.js';
import type { UploadContext, UploadWriter, UploadWriters } from './upload-writer.js';
import { createWriterPlaces } from './writer-places.js';

const gone = (): KinoraError => new KinoraError('gone');

export const createUploadWriters = (context: UploadContext): UploadWriters => {
  const { blobs, clock, database } = context;
  const db = database.queryable;
  const places = createWriterPlaces(clock);

  const open = async (uploadId: string): Promise<UploadWriter> => {
    const place = await places.take(uploadId);
    try {
      let upload = await findUploadById(db, uploadId);
      if (!upload) throw new KinoraError('not_found');
      upload = await settleWaiting(upload);
      if (upload.status === 'asset_created') return completeWriter(context, upload.total_bytes!, place);
      if (upload.status !== 'waiting') throw gone();
      const target = await blobs.resumeWrite(sourceKey(upload.target_asset_id));
      return openWriter({ context, upload, place, target, afterwards: () => afterwards(uploadId) });
    } catch (error) {
      place.leave();
      throw error;
    }
  };

  /** The upload as it is once what a crash or the end of its time left to be done is done. */
  const settleWaiting = async (upload: Row<'upload'>): Promise<Row<'upload'>> => {
    if (upload.status !== 'waiting') return upload;
    if (await blobs.stat(sourceKey(upload.target_asset_id))) return completeUpload(context, upload.id);
    if (upload.expires_at > clock.now()) return upload;
    return timeOutUpload(context, upload.id);
  };

  /** A transfer may outlast the time of its upload; what comes of it is decided at its end. */
  const afterwards = async (uploadId: string): Promise<void> => {
    const upload = await findUploadById(db, uploadId);
    const { status } = upload ? await settleWaiting(upload) : { status: 'cancelled' as const };
    // The purge that followed the end of the upload may have run while this writer still stored bytes.
    if (upload && status !== 'waiting' && status !== 'asset_created')
      await blobs.deletePrefix(assetPrefix(upload.target_asset_id));
  };

  return {
    open,
    isOpen: (uploadId) => places.find(uploadId) !== undefined,
    abort: async (uploadId) => {
      const place = places.find(uploadId);
      place?.controller.abort(gone());
      await place?.closed;
    },
    settle: async (uploadId) => {
      if (places.find(uploadId)) return;
      const place = await places.take(uploadId);
      // It is done in a moment: a sender that comes meanwhile waits.
      place.ending = true;
      try {
        const upload = await findUploadById(db, uploadId);
        if (upload) await settleWaiting(upload);
      } finally {
        place.leave();
      }
    },
  };
};
