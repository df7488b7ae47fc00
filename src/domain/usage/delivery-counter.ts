import type { Database, Queryable } from '../../db/database.js';
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
  /**
   * The playing time of the data; 0 for what only has bytes, such as audio beside video or a part
   * of a segment.
   */
  readonly seconds: number;
  readonly bytes: number;
  /** The start position in the asset; absent for data without a position. */
  readonly startSeconds?: number;
  /** It is of the AV1 ladder. */
  readonly isAv1?: true;
}

interface DeliveryCounterOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether somebody waits for the counts: then each write follows after the shortest time. */
  readonly isWatched?: () => boolean;
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

/**
 * Sums what viewers are sent by asset, minute and tier. Also sums up what is old, and removes what
 * is too old for any report.
 */
export class DeliveryCounter {
  readonly #db: Queryable;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #isWatched: () => boolean;
  readonly #maxWaiting: number;
  readonly #totals: Totals = new Map();
  readonly #parts: Parts = new Map();
  readonly #timer: NodeJS.Timeout;
  #running: Promise<void> | undefined;
  #purgeAtMs: number;
  #waitFactor = 1;
  /** Ticks of the timer until the next write. */
  #ticksLeft = 1;
  #isDropping = false;
  #isStopping = false;

  constructor(options: DeliveryCounterOptions) {
    const { database, clock, logger, isWatched = () => false, writeMs = WRITE_MS, maxWaiting = MAX_WAITING } = options;
    this.#db = database.queryable;
    this.#clock = clock;
    this.#logger = logger;
    this.#isWatched = isWatched;
    this.#maxWaiting = maxWaiting;
    this.#purgeAtMs = clock.monotonicMs();
    this.#timer = setInterval(() => this.#tick(), writeMs);
  }

  /**
   * Only adds in memory, so it takes no time and never fails. Counts are written within seconds,
   * under continuous load every half minute unless they are watched; a killed process loses the
   * rest.
   */
  count({ environmentId, assetId, tier, seconds, bytes, startSeconds, isAv1 }: Delivery): void {
    if (seconds <= 0 && bytes <= 0) return;
    if (startSeconds !== undefined && seconds > 0) {
      const part = { asset_id: assetId, part: Math.floor(startSeconds / PART_SECONDS), seconds };
      if (this.#hasRoom(this.#parts, keyOfPart(part))) addPart(this.#parts, part);
    }
    const nowMs = this.#clock.now().getTime();
    const totals = {
      environment_id: environmentId,
      asset_id: assetId,
      minute: new Date(nowMs - (nowMs % MINUTE_MS)),
      tier,
      delivered_seconds: seconds,
      delivered_bytes: bytes,
      av1_seconds: isAv1 ? seconds : 0,
      av1_bytes: isAv1 ? bytes : 0,
    };
    if (this.#hasRoom(this.#totals, keyOf(totals))) add(this.#totals, totals);
  }

  /** Writes the counts in memory; logs what can't be written. Later counts are lost. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#timer);
    await this.#running;
    await this.#write().catch((error: unknown) => {
      const sums = Math.max(this.#totals.size, this.#parts.size);
      this.#logger.error({ err: error, sums }, 'delivery usage lost: not stored before the stop');
    });
  }

  /** While nothing can be written, what has no sum yet is not counted any more. */
  #hasRoom(sums: Totals | Parts, key: string): boolean {
    if (sums.has(key) || sums.size < this.#maxWaiting) return true;
    if (!this.#isDropping)
      this.#logger.error({ sums: sums.size }, 'delivery usage lost: too much waits for the database');
    this.#isDropping = true;
    return false;
  }

  #tick(): void {
    this.#ticksLeft -= 1;
    if (this.#ticksLeft > 0) return;
    this.#ticksLeft = this.#waitFactor;
    this.#waitFactor = this.#isWatched() ? 1 : Math.min(this.#waitFactor * 2, MAX_WAIT_FACTOR);
    this.#running ??= this.#write()
      .then(() => this.#purge())
      .catch((error) => this.#logger.warn({ err: error }, 'delivery usage not stored, retrying'))
      .finally(() => {
        this.#running = undefined;
      });
  }

  async #write(): Promise<void> {
    // What is counted meanwhile is written the next time.
    const waiting = Math.max(this.#totals.size, this.#parts.size);
    if (waiting === 0) {
      this.#waitFactor = 1;
      this.#ticksLeft = 1;
    }
    for (let written = 0; written < waiting; written += MAX_WRITTEN) {
      const [batch, partBatch] = [takeSome(this.#totals), takeSome(this.#parts)];
      try {
        await addDeliveries(this.#db, batch, partBatch);
      } catch (error) {
        for (const totals of batch) add(this.#totals, totals);
        for (const totals of partBatch) addPart(this.#parts, totals);
        throw error;
      }
    }
    this.#isDropping = false;
  }

  async #purge(): Promise<void> {
    if (this.#clock.monotonicMs() < this.#purgeAtMs) return;
    this.#purgeAtMs = this.#clock.monotonicMs() + PURGE_MS;
    const nowMs = this.#clock.now().getTime();
    await deleteOldUsage(this.#db, new Date(nowMs - KEEP_USAGE_MS));
    await deleteOldDeletedAssets(this.#db, new Date(nowMs - KEEP_DELETED_ASSET_MS));
    await this.#rollUp(1, 'hour', new Date(nowMs - KEEP_MINUTES_MS));
    await this.#rollUp(60, 'day', new Date(nowMs - KEEP_HOURS_MS));
  }

  async #rollUp(minutes: number, into: 'hour' | 'day', before: Date): Promise<void> {
    const rows = { minutes, into, before, limit: ROLL_UP_ROWS };
    while ((await rollUpUsage(this.#db, rows)) === ROLL_UP_ROWS && !this.#isStopping);
  }
}

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
  const sum = totals.get(key);
  if (sum) {
    sum.delivered_seconds += row.delivered_seconds;
    sum.delivered_bytes += row.delivered_bytes;
    sum.av1_seconds += row.av1_seconds;
    sum.av1_bytes += row.av1_bytes;
  } else totals.set(key, row);
};

const keyOfPart = (row: Row<'delivery_part'>): string => `${row.asset_id} ${row.part}`;

const addPart = (parts: Parts, row: Row<'delivery_part'>): void => {
  const key = keyOfPart(row);
  const sum = parts.get(key);
  if (sum) sum.seconds += row.seconds;
  else parts.set(key, { ...row });
};
