import type { Queryable } from '../db/database.js';
import type { DomainContext } from '../domain/context.js';
import { overviewTimes } from './calculations/overview-times.js';
import { type RollUpPeriod, rollUpSpans } from './calculations/roll-up-spans.js';
import {
  type AudienceFigures,
  type AudiencePoint,
  type PlayedFigures,
  playedOf,
  seriesOf,
  summarize,
} from './calculations/summarize.js';
import { readPeak, type ViewerPeak } from './read-viewers.js';
import { type AudienceFilter, readTopValues, readTotals } from './tables/overview.js';
import { findAssetTitles, findErrors, findLiveStreamTitles } from './tables/titles.js';

const TOP_VALUES = 10;
/** All views of an environment in a longer time are too many to look for the peak. */
const PEAK_MS = 24 * 3_600_000;

const dimensions = ['viewer_device_category', 'country', 'browser', 'operating_system'] as const;
type OverviewDimension = (typeof dimensions)[number];
const allDimensions = [...dimensions, 'error', 'asset_id', 'live_stream_id'];

interface OverviewQuery {
  readonly filter: AudienceFilter;
  readonly from: Date;
  /** Exclusive. */
  readonly before: Date;
}

export interface ValueFigures extends PlayedFigures {
  readonly value: string;
}
export interface TitledFigures extends PlayedFigures {
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
 * What views of a time add up to, in hours or days as `overviewTimes` says.
 */
export const readOverview = async (
  { database: { queryable: db }, clock }: Pick<DomainContext, 'database' | 'clock'>,
  { filter, from, before }: OverviewQuery,
): Promise<Overview> => {
  const { unit, stepMs, fromMs, beforeMs, previousMs } = overviewTimes(from, before, clock.now());
  const within = (start: number, end: number, longest: RollUpPeriod) => ({
    ...{ filter, fromMs: start, beforeMs: end },
    spans: rollUpSpans(start, end, longest),
  });
  const [totals, previous, values, viewers] = await Promise.all([
    readTotals(db, within(fromMs, beforeMs, unit), unit),
    readTotals(db, within(previousMs, fromMs, 'month'), undefined),
    readTopValues(db, within(fromMs, beforeMs, 'month'), allDimensions, TOP_VALUES),
    readPeak(db, clock.now(), { filter, from: earliestPeak(filter, fromMs, before), before }),
  ]);
  const valuesOf = (name: string): ValueFigures[] =>
    values.filter(({ dimension }) => dimension === name).map((fact) => ({ value: fact.value, ...playedOf(fact) }));
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
    totals: summarize(totals),
    previous: summarize(previous),
    points: seriesOf(totals, { fromMs, beforeMs, stepMs }),
    viewers,
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
