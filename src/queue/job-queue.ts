import type { Database } from '../db/database.js';
import { cancelJob, enqueueJob } from '../db/tables/server/job.js';
import type { Queue } from './queue.js';

const DEFAULT_MAX_ATTEMPTS = 5;

export const createQueue = (database: Database): Queue => ({
  enqueue: (queue, payload, options = {}, tx = undefined) =>
    enqueueJob(tx ?? database.queryable, {
      queue: queue.name,
      payload,
      key: options.again ? undefined : queue.keyOf?.(payload),
      priority: options.priority ?? 0,
      runAt: options.runAt,
      maxAttempts: options.maxAttempts ?? DEFAULT_MAX_ATTEMPTS,
    }),
  cancel: (queue, key, tx) => cancelJob(tx ?? database.queryable, queue.name, key),
});
