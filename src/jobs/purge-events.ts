import type { Database } from '../db/database.js';
import { deleteOldEvents } from '../db/tables/server/event.js';
import type { Clock } from '../lib/clock.js';
import type { Logger } from '../telemetry/logger.js';

/**
 * Small enough that a batch, with all its deliveries and attempts, never delays requests for long.
 */
const BATCH = 200;

interface EventPurgeOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly retentionMs: number;
}

/**
 * Removes events by age, with their deliveries, and returns how many; events with pending
 * deliveries stay.
 */
export const purgeEvents = async (
  { database, clock, logger, retentionMs }: EventPurgeOptions,
  isStopping = () => false,
): Promise<number> => {
  const before = new Date(clock.now().getTime() - retentionMs);
  let total = 0;
  while (!isStopping()) {
    const count = await deleteOldEvents(database.queryable, before, BATCH);
    total += count;
    if (count < BATCH) break;
  }
  if (total > 0) logger.info({ count: total }, 'old events removed');
  return total;
};
