import type { Row } from '../db/schema.js';
import type { DerivedDimension } from './dimensions.js';

/** Columns of a view with a number, null until it is known. */
export type NumberColumn = {
  [Name in keyof Row<'video_view'>]: Row<'video_view'>[Name] extends number | null ? Name : never;
}[keyof Row<'video_view'>];

/** A number of a view: a column, or a field of its `details`. */
export type ViewNumber = NumberColumn | { readonly detail: string };

export type Score = 'experience' | 'playback_success' | 'startup_time' | 'rebuffer' | 'video_quality';

/**
 * What a metric is for one view, null when the view says nothing about it: a number of it; the
 * quotient of two of them, times `factor`, whose mean over views is the quotient of their sums; 1
 * or 0; or a score. `views` and `viewers` are counts only.
 */
export type MetricSource =
  | { readonly number: ViewNumber }
  | { readonly quotient: readonly [ViewNumber, ViewNumber]; readonly factor?: number }
  | { readonly share: DerivedDimension }
  | { readonly score: Score }
  | 'views'
  | 'viewers';

export const measurements = ['95th', 'median', 'avg', 'count', 'sum'] as const;
export type Measurement = (typeof measurements)[number];

export interface Metric {
  readonly id: MetricId;
  /** For people. */
  readonly name: string;
  /** `percentage`: a share, where 1 is everything. Scores reach from 0 to 100. */
  readonly unit: 'milliseconds' | 'percentage' | 'score' | 'number' | 'bits_per_second';
  readonly source: MetricSource;
  /** When a request names none. */
  readonly measurement: Measurement;
  readonly better: 'lower' | 'higher';
  /** Which time of a view decides the period that it belongs to. */
  readonly time: 'started_at' | 'ended_at';
}

type Definition = Omit<Metric, 'id'>;

const lower = { better: 'lower', time: 'ended_at' } as const;
const higher = { better: 'higher', time: 'ended_at' } as const;
const engagement = { better: 'higher', time: 'started_at' } as const;

const milliseconds = (name: string, number: ViewNumber): Definition => ({
  ...lower,
  ...{ name, unit: 'milliseconds', source: { number }, measurement: 'median' },
});
const count = (name: string, number: ViewNumber, measurement: Measurement): Definition => ({
  ...lower,
  ...{ name, unit: 'number', source: { number }, measurement },
});
const quotient = (name: string, part: ViewNumber, whole: ViewNumber): Definition => ({
  ...lower,
  ...{ name, unit: 'percentage', source: { quotient: [part, whole] }, measurement: 'avg' },
});
const share = (name: string, dimension: DerivedDimension): Definition => ({
  ...lower,
  ...{ name, unit: 'percentage', source: { share: dimension }, measurement: 'avg' },
});
const score = (name: string, of: Score): Definition => ({
  ...higher,
  ...{ name, unit: 'score', source: { score: of }, measurement: 'avg' },
});
const detail = (name: string) => ({ detail: name });
const attempts = detail('ad_attempt_count');

const definitions = {
  viewer_experience_score: score('Viewer Experience Score', 'experience'),
  playback_success_score: score('Playback Success Score', 'playback_success'),
  startup_time_score: score('Startup Time Score', 'startup_time'),
  rebuffer_score: score('Rebuffer Score', 'rebuffer'),
  video_quality_score: score('Video Quality Score', 'video_quality'),

  playback_failure_percentage: share('Playback Failures', 'playback_failure'),
  video_startup_failure_percentage: share('Video Startup Failures', 'video_startup_failure'),
  exits_before_video_start: share('Exits Before Video Start', 'exit_before_video_start'),
  playback_business_exception_percentage: share('Playback Business Exceptions', 'playback_business_exception'),
  video_startup_business_exception_percentage: share(
    'Video Startup Business Exceptions',
    'video_startup_business_exception',
  ),
  view_dropped_percentage: share('Dropped Views', 'view_dropped'),

  video_startup_time: milliseconds('Video Startup Time', 'video_startup_time'),
  player_startup_time: milliseconds('Player Startup Time', 'player_startup_time'),
  page_load_time: milliseconds('Page Load Time', 'page_load_time'),
  aggregate_startup_time: milliseconds('Aggregate Startup Time', 'aggregate_startup_time'),
  view_content_startup_time: milliseconds('Content Startup Time', detail('view_content_startup_time')),
  seek_latency: {
    ...lower,
    ...{ name: 'Seek Latency', unit: 'milliseconds', measurement: 'avg' },
    source: { quotient: ['seek_duration', 'seek_count'] },
  },

  rebuffer_percentage: quotient('Rebuffer Percentage', 'rebuffer_duration', 'watch_time'),
  rebuffer_frequency: {
    ...lower,
    ...{ name: 'Rebuffer Frequency', unit: 'number', measurement: 'avg' },
    // Per minute.
    source: { quotient: ['rebuffer_count', 'watch_time'], factor: 60_000 },
  },
  rebuffer_duration: milliseconds('Rebuffer Duration', 'rebuffer_duration'),
  rebuffer_count: count('Rebuffer Count', 'rebuffer_count', 'median'),

  upscale_percentage: quotient('Upscale Percentage', 'total_upscale', 'content_playback_time'),
  downscale_percentage: quotient('Downscale Percentage', 'total_downscale', 'content_playback_time'),
  max_upscale_percentage: {
    ...lower,
    ...{ name: 'Max Upscale Percentage', unit: 'percentage', measurement: 'median' },
    source: { number: 'max_upscale' },
  },
  max_downscale_percentage: {
    ...lower,
    ...{ name: 'Max Downscale Percentage', unit: 'percentage', measurement: 'median' },
    source: { number: 'max_downscale' },
  },
  weighted_average_bitrate: {
    ...higher,
    ...{ name: 'Weighted Average Bitrate', unit: 'bits_per_second', measurement: 'median' },
    source: { number: 'average_bitrate' },
  },
  rendition_change_count: count('Rendition Changes', 'rendition_changes', 'median'),
  rendition_upshift_count: count('Rendition Upshifts', 'rendition_upshifts', 'median'),
  rendition_downshift_count: count('Rendition Downshifts', 'rendition_downshifts', 'median'),

  live_stream_latency: milliseconds('Live Stream Latency', 'live_latency'),
  request_latency: milliseconds('Request Latency', 'request_latency'),
  max_request_latency: milliseconds('Max Request Latency', 'max_request_latency'),
  request_throughput: {
    ...higher,
    ...{ name: 'Request Throughput', unit: 'bits_per_second', measurement: 'median' },
    source: { number: 'request_throughput' },
  },

  views: { ...engagement, name: 'Views', unit: 'number', source: 'views', measurement: 'count' },
  unique_viewers: { ...engagement, name: 'Unique Viewers', unit: 'number', source: 'viewers', measurement: 'count' },
  playing_time: {
    ...engagement,
    ...{ name: 'Playing Time', unit: 'milliseconds', source: { number: 'playing_time' }, measurement: 'sum' },
  },

  ad_attempt_count: count('Ad Attempts', attempts, 'sum'),
  ad_break_count: count('Ad Breaks', detail('ad_break_count'), 'sum'),
  ad_break_error_count: count('Ad Break Errors', detail('ad_break_error_count'), 'sum'),
  ad_break_error_percentage: quotient(
    'Ad Break Error Percentage',
    detail('ad_break_error_count'),
    detail('ad_break_count'),
  ),
  ad_error_count: count('Ad Errors', detail('ad_error_count'), 'sum'),
  ad_error_percentage: quotient('Ad Error Percentage', detail('ad_error_count'), attempts),
  ad_exit_before_start_count: count('Ad Exits Before Start', detail('ad_exit_before_start_count'), 'avg'),
  ad_exit_before_start_percentage: quotient(
    'Ad Exit Before Start Percentage',
    detail('ad_exit_before_start_count'),
    attempts,
  ),
  ad_impression_count: count('Ad Impressions', detail('ad_impression_count'), 'sum'),
  ad_startup_error_count: count('Ad Startup Errors', detail('ad_startup_error_count'), 'avg'),
  ad_startup_error_percentage: quotient('Ad Startup Error Percentage', detail('ad_startup_error_count'), attempts),
  ad_preroll_startup_time: milliseconds('Ad Preroll Startup Time', detail('ad_preroll_startup_time')),
  requests_for_first_preroll: count('Requests for First Preroll', detail('requests_for_first_preroll'), 'median'),
  video_startup_preroll_load_time: milliseconds('Preroll Load Time', detail('video_startup_preroll_load_time')),
  video_startup_preroll_request_time: milliseconds(
    'Preroll Request Time',
    detail('video_startup_preroll_request_time'),
  ),
} as const satisfies Record<string, Definition>;

export type MetricId = keyof typeof definitions;

export const metricIds = Object.keys(definitions) as readonly MetricId[];

export const metrics = Object.fromEntries(
  Object.entries(definitions).map(([id, definition]) => [id, { id, ...definition }]),
) as Readonly<Record<MetricId, Metric>>;

/** Metrics that say nothing of one view, or are not for filters in the API. */
const withoutFilter: readonly string[] = [
  'exits_before_video_start',
  'unique_viewers',
  'video_startup_failure_percentage',
  'view_dropped_percentage',
  'views',
];

/** What `metric_filters[]` may name. */
export const filterableMetrics = metricIds.filter((id) => !withoutFilter.includes(id));

/** `count` alone for counts of views and viewers. */
export const measurementsOf = ({ source }: Metric): readonly Measurement[] =>
  typeof source === 'string' ? ['count'] : measurements;
