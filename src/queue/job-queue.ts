import type { Database } from '../db/database.js';
import { cancelJob, enqueueJob } from '../db/tables/server/job.js';
import type { Queue } from './queue.js';

const DEFAULT_MAX_ATTEMPTS = 5;

export const createQueue = (database: Database): Queue => ({
  enqueue: (queue, payload, options = {}, tx = undefined) =>
    enqueueJob(tx ?? database.queryable, {
      queue,
      payload,
      key: options.dedupeKey,
      priority: options.priority ?? 0,
      runAt: options.runAt,
      maxAttempts: options.maxAttempts ?? DEFAULT_MAX_ATTEMPTS,
    }),
  cancel: (queue, dedupeKey, tx) => cancelJob(tx ?? database.queryable, queue, dedupeKey),
});
