import type { Database } from '../db/database.js';
import { deleteOldEvents } from '../db/tables/server/event.js';
import type { Clock } from '../lib/clock.js';
import type { Logger } from '../telemetry/logger.js';
import { createHourlyWork, type HourlyWork } from './hourly.js';

/** Small enough that a batch, with all deliveries and attempts, never holds up a request for long. */
const BATCH = 200;

export interface EventPurge extends HourlyWork {
  /** Removes what is too old now. Resolves to the number of events. */
  run(): Promise<number>;
}

/** Removes events by age, with their deliveries; what is still to be delivered stays. */
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
