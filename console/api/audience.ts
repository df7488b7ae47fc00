import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { get, type QueryValues, request } from './client';

/** Sums over views. Times in milliseconds. */
interface Played {
  readonly views: number;
  readonly watch_time: number;
  /** From 0 to 1; null if nobody watched. */
  readonly rebuffer_percentage: number | null;
}

interface Startup {
  readonly startup_time_median: number | null;
  readonly startup_time_p95: number | null;
}

export interface AudienceFigures extends Played, Startup {
  readonly playing_time: number;
  readonly rebuffer_count: number;
  readonly playback_failures: number;
  readonly startup_failures: number;
  readonly exits_before_start: number;
}

export interface AudiencePoint extends Played, Startup {
  /** Seconds since 1970. */
  readonly time: number;
}

export interface ValueFigures extends Played {
  readonly value: string;
}

export interface TitledFigures extends Played {
  readonly id: string;
  readonly title: string | null;
  readonly is_deleted: boolean;
}

export interface ErrorFigures {
  readonly id: number;
  readonly code: string;
  readonly message: string;
  readonly views: number;
}

export interface Overview {
  readonly totals: AudienceFigures;
  readonly previous: AudienceFigures;
  readonly interval: 'hour' | 'day';
  readonly points: readonly AudiencePoint[];
  readonly viewers: { readonly now: number; readonly peak: number; readonly peak_at: number | null };
  readonly errors: readonly ErrorFigures[];
  readonly devices: readonly ValueFigures[];
  readonly countries: readonly ValueFigures[];
  readonly browsers: readonly ValueFigures[];
  readonly operating_systems: readonly ValueFigures[];
  readonly assets: readonly TitledFigures[];
  readonly live_streams: readonly TitledFigures[];
}

export interface CurrentViewers {
  readonly now: number;
  readonly live_streams: readonly { readonly id: string; readonly title: string | null; readonly viewers: number }[];
  /** Seconds since 1970, and views within the next 10 seconds. */
  readonly points: readonly { readonly time: number; readonly viewers: number }[];
}

/** One asset or live stream; all views of the environment without either. */
export interface AudienceSubject {
  readonly asset_id?: string;
  readonly live_stream_id?: string;
}

const VIEWERS_EVERY_MS = 10_000;
const OVERVIEW_EVERY_MS = 60_000;

const load = <T>(path: string, values: QueryValues, signal: AbortSignal): Promise<T> =>
  get<{ data: T }>(path, values, signal).then(({ data }) => data);

/** @param timeframe a duration of the API, such as `7:days`. Loaded again while it is displayed */
export const overviewQuery = (timeframe: string, subject: AudienceSubject = {}) =>
  queryOptions({
    queryKey: ['audience', 'overview', timeframe, subject],
    queryFn: ({ signal }) => load<Overview>('/data/v1/overview', { 'timeframe[]': timeframe, ...subject }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: OVERVIEW_EVERY_MS,
  });

/** Loaded again every 10 seconds while it is displayed. */
export const viewersQuery = (subject: AudienceSubject = {}) =>
  queryOptions({
    queryKey: ['audience', 'viewers', subject],
    queryFn: ({ signal }) => load<CurrentViewers>('/data/v1/viewers', { ...subject }, signal),
    refetchInterval: VIEWERS_EVERY_MS,
  });

export const deleteViewsOf = (assetId: string): Promise<undefined> =>
  request('DELETE', `/data/v1/video-views?asset_id=${assetId}`);

export interface Retention {
  /** Views that played something. */
  readonly views: number;
  /** In milliseconds. */
  readonly duration: number;
  /** Of parts of equal length. */
  readonly points: readonly {
    /** Where it starts, in milliseconds. */
    readonly time: number;
    /** The share of the views that played some of it. */
    readonly watching: number;
    /** How often each view played it on average. */
    readonly plays: number;
  }[];
  /** Played most, first. */
  readonly hotspots: readonly { readonly start_ms: number; readonly end_ms: number; readonly score: number }[];
}

/** Of all views that are kept. */
export const retentionQuery = (assetId: string) =>
  queryOptions({
    queryKey: ['audience', 'retention', assetId],
    queryFn: ({ signal }) =>
      load<Retention>(`/data/v1/assets/${assetId}/retention`, { 'timeframe[]': '90:days' }, signal),
  });
