import type { Database } from '../db/database.js';
import { listEnvironments } from '../db/tables/server/environment.js';
import type { Clock } from '../lib/clock.js';
import type { Logger } from '../telemetry/logger.js';
import { KEEP_HOURS_MS } from './calculations/roll-up-spans.js';
import { deleteOldErrors, deleteOldSums, deleteOldViews } from './tables/old-views.js';

const DAY_MS = 24 * 60 * 60_000;
const BATCH = 500;

interface ViewPurgeOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly retentionMs: number;
}

/** Removes views and what roll-ups tell of them, by age. */
export const purgeViews = async (
  { database, clock, logger, retentionMs }: ViewPurgeOptions,
  isStopping = () => false,
): Promise<void> => {
  const db = database.queryable;
  const nowMs = clock.now().getTime();
  const before = new Date(nowMs - retentionMs);
  // The day and the month in which the oldest view began stay.
  const sums = {
    hour: new Date(nowMs - Math.min(KEEP_HOURS_MS, retentionMs)),
    day: new Date(nowMs - retentionMs - DAY_MS),
    month: new Date(nowMs - retentionMs - 31 * DAY_MS),
  };
  let total = 0;
  for (const { id } of await listEnvironments(db)) {
    while (!isStopping()) {
      const count = await deleteOldViews(db, id, before, BATCH);
      total += count;
      if (count < BATCH) break;
    }
    if (isStopping()) return;
    await deleteOldSums(db, id, sums);
    await deleteOldErrors(db, id, before);
  }
  if (total > 0) logger.info({ count: total }, 'old views removed');
};
