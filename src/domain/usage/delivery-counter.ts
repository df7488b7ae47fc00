import type { Database } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import {
  addDeliveredParts,
  addDeliveries,
  deleteOldDeletedAssets,
  deleteOldUsage,
} from '../../db/tables/playback/usage.js';
import type { Clock } from '../../lib/clock.js';
import type { AssetProperties } from '../../media/plan/asset-properties.js';
import { PART_SECONDS } from '../../media/robots/engagement.js';
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
   * Only adds in memory, so it takes no time and never fails. Counts are written within seconds; a killed process
   * loses the rest.
   */
  count(delivery: Delivery): void;
  /** Writes the counts in memory. Later counts are lost. */
  stop(): Promise<void>;
}

interface DeliveryCounterOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The interval between writes; 5 s by default. */
  readonly writeMs?: number;
}

const WRITE_MS = 5000;
const MINUTE_MS = 60_000;
const PURGE_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Reports cover the last 90 days. */
const KEEP_USAGE_MS = 91 * DAY_MS;
/** A day longer than the usage that refers to it. */
const KEEP_DELETED_ASSET_MS = 92 * DAY_MS;

type Totals = Map<string, Row<'delivery_usage'>>;
type Parts = Map<string, Row<'delivery_part'>>;

/** Sums what viewers are sent by asset, minute and tier. Also removes what is too old for any report. */
export const createDeliveryCounter = (options: DeliveryCounterOptions): DeliveryCounter => {
  const { database, clock, logger, writeMs = WRITE_MS } = options;
  const db = database.queryable;
  let counted: Totals = new Map();
  let parts: Parts = new Map();
  let working: Promise<void> | undefined;
  let purgeAtMs = clock.monotonicMs();

  const write = async (): Promise<void> => {
    if (counted.size === 0) return;
    const batch = counted;
    const partBatch = parts;
    counted = new Map();
    parts = new Map();
    try {
      await database.transaction(async (tx) => {
        await addDeliveries(tx, [...batch.values()]);
        await addDeliveredParts(tx, [...partBatch.values()]);
      });
    } catch (error) {
      for (const totals of batch.values()) add(counted, totals);
      for (const totals of partBatch.values()) addPart(parts, totals);
      throw error;
    }
  };

  const purge = async (): Promise<void> => {
    if (clock.monotonicMs() < purgeAtMs) return;
    purgeAtMs = clock.monotonicMs() + PURGE_MS;
    const nowMs = clock.now().getTime();
    await deleteOldUsage(db, new Date(nowMs - KEEP_USAGE_MS));
    await deleteOldDeletedAssets(db, new Date(nowMs - KEEP_DELETED_ASSET_MS));
  };

  const timer = setInterval(() => {
    working ??= write()
      .then(purge)
      .catch((error) => logger.warn({ err: error }, 'delivery usage not stored, retrying'))
      .finally(() => {
        working = undefined;
      });
  }, writeMs);

  return {
    count({ environmentId, assetId, tier, seconds, bytes, startSeconds }) {
      if (seconds <= 0) return;
      if (startSeconds !== undefined)
        addPart(parts, { asset_id: assetId, part: Math.floor(startSeconds / PART_SECONDS), seconds });
      const nowMs = clock.now().getTime();
      add(counted, {
        environment_id: environmentId,
        asset_id: assetId,
        minute: new Date(nowMs - (nowMs % MINUTE_MS)),
        tier,
        delivered_seconds: seconds,
        delivered_bytes: bytes,
      });
    },
    stop: async () => {
      clearInterval(timer);
      await working;
      await write();
    },
  };
};

const add = (totals: Totals, row: Row<'delivery_usage'>): void => {
  const key = `${row.environment_id} ${row.asset_id} ${row.minute.getTime()} ${row.tier}`;
  const known = totals.get(key);
  if (known) {
    known.delivered_seconds += row.delivered_seconds;
    known.delivered_bytes += row.delivered_bytes;
  } else totals.set(key, row);
};

const addPart = (parts: Parts, row: Row<'delivery_part'>): void => {
  const key = `${row.asset_id} ${row.part}`;
  const known = parts.get(key);
  if (known) known.seconds += row.seconds;
  else parts.set(key, { ...row });
};
