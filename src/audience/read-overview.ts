import type { Queryable } from '../db/database.js';
import type { DomainContext } from '../domain/context.js';
import { rollUpSpans } from './calculations/roll-up-spans.js';
import {
  type AudienceFigures,
  type AudiencePoint,
  seriesOf,
  summarize,
  type ViewFact,
} from './calculations/summarize.js';
import { readPeak, type ViewerPeak } from './read-viewers.js';
import { type AudienceFilter, readFacts } from './tables/overview.js';
import { findAssetTitles, findErrors, findLiveStreamTitles } from './tables/titles.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A longer time has a point for each day. */
const MAX_HOURS = 72;
const TOP_VALUES = 10;
/** All views of an environment in a longer time are too many to look for the peak. */
const PEAK_MS = DAY_MS;

const allViews = ['', 'startup_bucket'];
const dimensions = ['viewer_device_category', 'country', 'browser', 'operating_system'] as const;
type OverviewDimension = (typeof dimensions)[number];

interface OverviewQuery {
  readonly filter: AudienceFilter;
  readonly from: Date;
  /** Exclusive. */
  readonly before: Date;
}

export interface ValueFigures extends AudienceFigures {
  readonly value: string;
}
export interface TitledFigures extends AudienceFigures {
  readonly id: string;
  /** Null for what has none or is deleted. */
  readonly title: string | null;
  readonly isDeleted: boolean;
}
export interface ErrorFigures {
  readonly id: number;
  readonly code: string;
  readonly message: string;
  readonly views: number;
}

export interface Overview {
  /** Whole hours or days in UTC. */
  readonly from: Date;
  readonly unit: 'hour' | 'day';
  readonly totals: AudienceFigures;
  /** Of the time of the same length before. */
  readonly previous: AudienceFigures;
  readonly points: readonly AudiencePoint[];
  readonly viewers: ViewerPeak;
  readonly byDimension: Readonly<Record<OverviewDimension, readonly ValueFigures[]>>;
  readonly errors: readonly ErrorFigures[];
  readonly assets: readonly TitledFigures[];
  readonly liveStreams: readonly TitledFigures[];
}

/**
 * What views of a time add up to. It begins with the hour that `from` is in, or with the day if the
 * time is longer than three days.
 */
export const readOverview = async (
  { database: { queryable: db }, clock }: Pick<DomainContext, 'database' | 'clock'>,
  { filter, from, before }: OverviewQuery,
): Promise<Overview> => {
  const unit = before.getTime() - from.getTime() > MAX_HOURS * HOUR_MS ? 'day' : 'hour';
  const stepMs = unit === 'day' ? DAY_MS : HOUR_MS;
  const fromMs = Math.floor(from.getTime() / stepMs) * stepMs;
  const beforeMs = Math.ceil(before.getTime() / HOUR_MS) * HOUR_MS;
  const facts = (time: readonly [number, number], unitOfFacts: typeof unit | undefined, of: readonly string[]) =>
    readFacts(db, {
      ...{ filter, fromMs: time[0], beforeMs: time[1], unit: unitOfFacts, dimensions: of, limit: TOP_VALUES },
      spans: rollUpSpans(...time, unitOfFacts ?? 'day'),
    });
  const current = await facts([fromMs, beforeMs], unit, [
    ...allViews,
    ...dimensions,
    ...['error', 'asset_id', 'live_stream_id'],
  ]);
  const previous = await facts([2 * fromMs - beforeMs, fromMs], undefined, allViews);
  const valuesOf = (dimension: string): ValueFigures[] => figuresOf(current, dimension);
  const titled = (titles: ReadonlyMap<string, string | null>, values: readonly ValueFigures[]): TitledFigures[] =>
    values.map(({ value, ...figures }) => ({
      ...figures,
      id: value,
      title: titles.get(value) ?? null,
      isDeleted: !titles.has(value),
    }));
  const [assets, liveStreams] = [valuesOf('asset_id'), valuesOf('live_stream_id')];
  const idsOf = (values: readonly ValueFigures[]): string[] => values.map(({ value }) => value);
  return {
    from: new Date(fromMs),
    unit,
    totals: summarize(current),
    previous: summarize(previous),
    points: seriesOf(current, { fromMs, beforeMs, stepMs }),
    viewers: await readPeak(db, clock.now(), { filter, from: earliestPeak(filter, fromMs, before), before }),
    byDimension: {
      viewer_device_category: valuesOf('viewer_device_category'),
      country: valuesOf('country'),
      browser: valuesOf('browser'),
      operating_system: valuesOf('operating_system'),
    },
    errors: await readErrors(db, valuesOf('error')),
    assets: titled(await findAssetTitles(db, idsOf(assets)), assets),
    liveStreams: titled(await findLiveStreamTitles(db, idsOf(liveStreams)), liveStreams),
  };
};

const earliestPeak = ({ assetId, liveStreamId }: AudienceFilter, fromMs: number, before: Date): Date =>
  new Date((assetId ?? liveStreamId) === undefined ? Math.max(fromMs, before.getTime() - PEAK_MS) : fromMs);

const figuresOf = (facts: readonly ViewFact[], dimension: string): ValueFigures[] =>
  facts
    .filter((fact) => fact.dimension === dimension)
    .map((fact) => ({ value: fact.value, ...summarize([{ ...fact, dimension: '' }]) }));

const readErrors = async (db: Queryable, values: readonly ValueFigures[]): Promise<ErrorFigures[]> => {
  const errors = await findErrors(
    db,
    values.map(({ value }) => Number(value)),
  );
  return values.flatMap(({ value, views }) => {
    const error = errors.find(({ id }) => id === Number(value));
    return error ? [{ ...error, views }] : [];
  });
};
