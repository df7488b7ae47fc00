import type { Queryable } from '../db/database.js';
import type { DomainContext } from '../domain/context.js';
import { stepsOf } from './calculations/summarize.js';
import type { AudienceFilter } from './tables/overview.js';
import { findLiveStreamTitles } from './tables/titles.js';
import { type ConcurrencyQuery, countViewers, findPeak, listConcurrency } from './tables/viewers.js';

const STEP_SECONDS = 10;
const STEP_MS = STEP_SECONDS * 1000;
const RECENT_MS = 30 * 60_000;

export interface CurrentViewers {
  readonly now: number;
  readonly liveStreams: readonly { readonly id: string; readonly title: string | null; readonly viewers: number }[];
  /** Of the last 30 minutes, in steps of 10 seconds. */
  readonly points: readonly { readonly time: Date; readonly viewers: number }[];
}

const sumOf = (counted: readonly { readonly viewers: number }[]): number =>
  counted.reduce((sum, { viewers }) => sum + viewers, 0);

/** Who watches at this moment and did in the last 30 minutes. */
export const readCurrentViewers = async (
  { database: { queryable: db }, clock }: Pick<DomainContext, 'database' | 'clock'>,
  filter: AudienceFilter,
): Promise<CurrentViewers> => {
  const now = clock.now();
  const counted = await countViewers(db, filter, now);
  const live = counted.flatMap(({ live_stream_id: id, viewers }) => (id === null ? [] : [{ id, viewers }]));
  const titles = await findLiveStreamTitles(
    db,
    live.map(({ id }) => id),
  );
  const beforeMs = Math.floor(now.getTime() / STEP_MS) * STEP_MS;
  const fromMs = beforeMs - RECENT_MS;
  const changes = await listConcurrency(db, {
    ...{ filter, from: new Date(fromMs), before: new Date(beforeMs), stepSeconds: STEP_SECONDS },
  });
  return {
    now: sumOf(counted),
    liveStreams: live.map(({ id, viewers }) => ({ id, title: titles.get(id) ?? null, viewers })),
    points: stepsOf(changes, { fromMs, beforeMs, stepMs: STEP_MS }),
  };
};

export interface ViewerPeak {
  readonly now: number;
  readonly peak: number;
  /** Null without a view. */
  readonly peakAt: Date | null;
}

/** How many watch at this moment, and the most that did at once. */
export const readPeak = async (
  db: Queryable,
  now: Date,
  { filter, from, before }: Omit<ConcurrencyQuery, 'stepSeconds'>,
): Promise<ViewerPeak> => {
  const watching = sumOf(await countViewers(db, filter, now));
  const peak = await findPeak(db, { filter, from, before, stepSeconds: STEP_SECONDS });
  return { now: watching, peak: Math.max(watching, peak?.viewers ?? 0), peakAt: peak?.time ?? null };
};
