import type { Database } from '../db/database.js';
import { deleteOldEvents } from '../db/tables/server/event.js';
import type { Clock } from '../lib/clock.js';
import type { Logger } from '../telemetry/logger.js';

const INTERVAL_MS = 60 * 60_000;
/** Small enough that a batch, with all deliveries and attempts, never holds up a request for long. */
const BATCH = 200;

export interface EventPurge {
  /** Removes what is too old now. Resolves to the number of events. */
  run(): Promise<number>;
  /** Every hour from now on. */
  start(): void;
  stop(): Promise<void>;
}

/** Removes events by age, with their deliveries; what is still to be delivered stays. */
export const createEventPurge = (options: {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly retentionMs: number;
}): EventPurge => {
  const { database, clock, logger, retentionMs } = options;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<unknown> | undefined;
  let stopping = false;

  const run = async (): Promise<number> => {
    const before = new Date(clock.now().getTime() - retentionMs);
    let total = 0;
    while (!stopping) {
      const count = await deleteOldEvents(database.queryable, before, BATCH);
      total += count;
      if (count < BATCH) break;
    }
    if (total > 0) logger.info({ count: total }, 'old events are removed');
    return total;
  };

  const tick = (): void => {
    running ??= run()
      .catch((error) => logger.warn({ err: error }, 'Old events could not be removed; trying again in an hour'))
      .finally(() => {
        running = undefined;
      });
  };

  return {
    run,
    start: () => {
      tick();
      timer = setInterval(tick, INTERVAL_MS);
    },
    stop: async () => {
      stopping = true;
      clearInterval(timer);
      await running;
    },
  };
};
