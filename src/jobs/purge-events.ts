import type { Database } from '../db/database.js';
import { deleteOldEvents } from '../db/tables/server/event.js';
import type { Clock } from '../lib/clock.js';
import type { Logger } from '../telemetry/logger.js';
import { createHourlyWork, type HourlyWork } from './hourly.js';

/** Small enough that a batch, with all its deliveries and attempts, never delays requests for long. */
const BATCH = 200;

export interface EventPurge extends HourlyWork {
  /** Removes expired events and returns how many. */
  run(): Promise<number>;
}

/** Removes events by age, with their deliveries; events with pending deliveries stay. */
export const createEventPurge = (options: {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly retentionMs: number;
}): EventPurge => {
  const { database, clock, logger, retentionMs } = options;

  const run = async (isStopping = () => false): Promise<number> => {
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

  return { run, ...createHourlyWork(run, logger, 'removal of old events failed, retrying in an hour') };
};
