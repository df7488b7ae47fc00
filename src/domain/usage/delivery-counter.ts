import type { Database } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import {
  addDeliveries,
  type DeliveredMinute,
  deleteOldDeletedAssets,
  deleteOldUsage,
  rollUpUsage,
} from '../../db/tables/playback/usage.js';
import type { Clock } from '../../lib/clock.js';
import type { AssetProperties } from '../../media/plan/asset-properties.js';
import type { Logger } from '../../telemetry/logger.js';

/** What a viewer was sent. */
export interface Delivery {
  readonly environmentId: string;
  readonly assetId: string;
  /** The tier of the frames that were sent. */
  readonly tier: AssetProperties['resolutionTier'];
  /** The playing time of the data; nothing is counted when it is 0. */
  readonly seconds: number;
  readonly bytes: number;
  /** The start position in the asset; absent for data without a position. */
  readonly startSeconds?: number;
}

export interface DeliveryCounter {
  /**
   * Only adds in memory, so it takes no time and never fails. Counts are written within seconds, under continuous load
   * every half minute; a killed process loses the rest.
   */
  count(delivery: Delivery): void;
  /** Writes the counts in memory; logs what can't be written. Later counts are lost. */
  stop(): Promise<void>;
}

interface DeliveryCounterOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The shortest time between writes; 5 s by default. */
  readonly writeMs?: number;
  /** What is kept while nothing can be written; 100,000 sums by default. */
  readonly maxWaiting?: number;
}

/** Length of a part of an asset. A delivered segment counts for the part in which it begins. */
export const PART_SECONDS = 10;
const WRITE_MS = 5000;
/** Each write that follows another one waits twice as long, up to this multiple. */
const MAX_WAIT_FACTOR = 6;
/** About 30 MB. */
const MAX_WAITING = 100_000;
/** Rows in one statement. */
const MAX_WRITTEN = 5000;
const MINUTE_MS = 60_000;
const PURGE_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Reports cover the last 90 days. */
const KEEP_USAGE_MS = 91 * DAY_MS;
/** A day longer than the usage that refers to it. */
const KEEP_DELETED_ASSET_MS = 92 * DAY_MS;
/** Older minutes are summed up by the hour, older hours by the day (UTC). */
const KEEP_MINUTES_MS = 2 * DAY_MS;
const KEEP_HOURS_MS = 14 * DAY_MS;
/** Rows that one statement sums up. */
const ROLL_UP_ROWS = 5000;

type Totals = Map<string, DeliveredMinute>;
type Parts = Map<string, Row<'delivery_part'>>;

/** Sums what viewers are sent by asset, minute and tier. Also sums up what is old, and removes what is too old for any report. */
export const createDeliveryCounter = (options: DeliveryCounterOptions): DeliveryCounter => {
  const { database, clock, logger, writeMs = WRITE_MS, maxWaiting = MAX_WAITING } = options;
  const db = database.queryable;
  const counted: Totals = new Map();
  const parts: Parts = new Map();
  let working: Promise<void> | undefined;
  let purgeAtMs = clock.monotonicMs();
  let isDropping = false;
  let waitFactor = 1;
  /** Ticks of the timer until the next write. */
  let ticksLeft = 1;

  const write = async (): Promise<void> => {
    // What is counted meanwhile is written the next time.
    const waiting = Math.max(counted.size, parts.size);
    if (waiting === 0) {
      waitFactor = 1;
      ticksLeft = 1;
    }
    for (let written = 0; written < waiting; written += MAX_WRITTEN) {
      const [batch, partBatch] = [takeSome(counted), takeSome(parts)];
      try {
        await addDeliveries(db, batch, partBatch);
      } catch (error) {
        for (const totals of batch) add(counted, totals);
        for (const totals of partBatch) addPart(parts, totals);
        throw error;
      }
    }
    isDropping = false;
  };

  const rollUp = async (nowMs: number): Promise<void> => {
    const minutes = {
      minutes: 1,
      before: new Date(nowMs - KEEP_MINUTES_MS),
      into: 'hour',
      limit: ROLL_UP_ROWS,
    } as const;
    const hours = { minutes: 60, before: new Date(nowMs - KEEP_HOURS_MS), into: 'day', limit: ROLL_UP_ROWS } as const;
    for (const rows of [minutes, hours]) while ((await rollUpUsage(db, rows)) === ROLL_UP_ROWS && !isStopping);
  };

  const purge = async (): Promise<void> => {
    if (clock.monotonicMs() < purgeAtMs) return;
    purgeAtMs = clock.monotonicMs() + PURGE_MS;
    const nowMs = clock.now().getTime();
    await deleteOldUsage(db, new Date(nowMs - KEEP_USAGE_MS));
    await deleteOldDeletedAssets(db, new Date(nowMs - KEEP_DELETED_ASSET_MS));
    await rollUp(nowMs);
  };

  let isStopping = false;
  const timer = setInterval(() => {
    ticksLeft -= 1;
    if (ticksLeft > 0) return;
    ticksLeft = waitFactor;
    waitFactor = Math.min(waitFactor * 2, MAX_WAIT_FACTOR);
    working ??= write()
      .then(purge)
      .catch((error) => logger.warn({ err: error }, 'delivery usage not stored, retrying'))
      .finally(() => {
        working = undefined;
      });
  }, writeMs);

  /** While nothing can be written, what has no sum yet is not counted any more. */
  const hasRoom = (sums: Totals | Parts, key: string): boolean => {
    if (sums.has(key) || sums.size < maxWaiting) return true;
    if (!isDropping) logger.error({ sums: sums.size }, 'delivery usage lost: too much waits for the database');
    isDropping = true;
    return false;
  };

  return {
    count({ environmentId, assetId, tier, seconds, bytes, startSeconds }) {
      if (seconds <= 0) return;
      if (startSeconds !== undefined) {
        const part = { asset_id: assetId, part: Math.floor(startSeconds / PART_SECONDS), seconds };
        if (hasRoom(parts, keyOfPart(part))) addPart(parts, part);
      }
      const nowMs = clock.now().getTime();
      const totals = {
        environment_id: environmentId,
        asset_id: assetId,
        minute: new Date(nowMs - (nowMs % MINUTE_MS)),
        tier,
        delivered_seconds: seconds,
        delivered_bytes: bytes,
      };
      if (hasRoom(counted, keyOf(totals))) add(counted, totals);
    },
    stop: async () => {
      isStopping = true;
      clearInterval(timer);
      await working;
      await write().catch((error: unknown) => {
        const sums = Math.max(counted.size, parts.size);
        logger.error({ err: error, sums }, 'delivery usage lost: not stored before the stop');
      });
    },
  };
};

/** Removes what one statement can write. */
const takeSome = <V>(rows: Map<string, V>): V[] => {
  const taken: V[] = [];
  for (const [key, row] of rows) {
    if (taken.length === MAX_WRITTEN) break;
    taken.push(row);
    rows.delete(key);
  }
  return taken;
};

const keyOf = (row: DeliveredMinute): string =>
  `${row.environment_id} ${row.asset_id} ${row.minute.getTime()} ${row.tier}`;

const add = (totals: Totals, row: DeliveredMinute): void => {
  const key = keyOf(row);
  const known = totals.get(key);
  if (known) {
    known.delivered_seconds += row.delivered_seconds;
    known.delivered_bytes += row.delivered_bytes;
  } else totals.set(key, row);
};

const keyOfPart = (row: Row<'delivery_part'>): string => `${row.asset_id} ${row.part}`;

const addPart = (parts: Parts, row: Row<'delivery_part'>): void => {
  const key = keyOfPart(row);
  const known = parts.get(key);
  if (known) known.seconds += row.seconds;
  else parts.set(key, { ...row });
};
