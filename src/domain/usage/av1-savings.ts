import type { Queryable } from '../../db/database.js';
import { type Av1Savings, sumAv1Savings } from '../../db/tables/playback/av1.js';
import type { Clock } from '../../lib/clock.js';

/** How many days back the savings of AV1 are summed. */
const SAVINGS_DAYS = 30;
const DAY_MS = 24 * 3_600_000;

/** What AV1 saved, of one asset or of all. */
export const readAv1Savings = (db: Queryable, clock: Clock, assetId?: string): Promise<Av1Savings> =>
  sumAv1Savings(db, new Date(clock.now().getTime() - SAVINGS_DAYS * DAY_MS), assetId);
