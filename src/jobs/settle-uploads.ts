import type { Database } from '../db/database.js';
import { findUploadById, listUnsettledUploads } from '../db/tables/assets/upload.js';
import { queues } from '../domain/queues.js';
import type { Clock } from '../lib/clock.js';
import { KinoraError } from '../lib/errors.js';
import type { Job, QueueWorker } from '../queue/queue.js';
import type { UploadSessions } from '../uploads/upload-sessions.js';

interface SettleDeps {
  readonly database: Database;
  readonly clock: Clock;
  readonly uploadSessions: UploadSessions;
}

const TIME_OUT_CONCURRENCY = 2;

/**
 * Ends expired uploads, and creates the assets of uploads whose last byte arrived just before the
 * server was killed.
 */
export const createUploadWorkers = ({ database, clock, uploadSessions }: SettleDeps): QueueWorker[] => [
  {
    queue: queues.timeOutUpload,
    concurrency: TIME_OUT_CONCURRENCY,
    handler: async (job: Job<{ uploadId: string }>) => {
      const { uploadId } = job.payload;
      await uploadSessions.settle(uploadId);
      const upload = await findUploadById(database.queryable, uploadId);
      // While a request is sending bytes, its end decides. Otherwise the database's clock is ahead.
      if (upload?.status === 'waiting' && !(await uploadSessions.isOpen(uploadId)))
        throw new KinoraError('unavailable', { details: { stage: 'the time of an upload is not over yet' } });
    },
  },
  {
    queue: queues.settleUploads,
    concurrency: 1,
    handler: async () => {
      for (const uploadId of await listUnsettledUploads(database.queryable, clock.now()))
        await uploadSessions.settle(uploadId);
    },
  },
];
