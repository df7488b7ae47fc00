import { type RawBuilder, sql } from 'kysely';
import {
  type AnyDimension,
  type DerivedDimension,
  derivedDimensions,
  dimensionColumns,
  type RenditionDimension,
  renditionDimensions,
  type TraceDimension,
} from '../dimensions.js';
import { type MetricId, type MetricSource, metrics, type Score, type ViewNumber } from '../metrics.js';

// SQL for one row of `video_view`, under this name. Names are literals, so that equal expressions
// are equal to the planner; they come from lists in the code, never from a request.

const derived: Record<DerivedDimension, RawBuilder<boolean>> = {
  exit_before_video_start: sql`(video_view.ended_at is not null and video_view.video_startup_time is null
    and not video_view.is_playback_failure and not video_view.is_startup_failure)`,
  playback_failure: sql`((video_view.is_playback_failure or video_view.is_startup_failure)
    and not video_view.is_business_exception)`,
  playback_business_exception: sql`((video_view.is_playback_failure or video_view.is_startup_failure)
    and video_view.is_business_exception)`,
  video_startup_failure: sql`(video_view.is_startup_failure and not video_view.is_business_exception)`,
  video_startup_business_exception: sql`(video_view.is_startup_failure and video_view.is_business_exception)`,
  view_dropped: sql`(video_view.ended_at is not null and video_view.is_dropped)`,
};

/** The text value of a dimension, or null. */
export const dimensionValue = (dimension: AnyDimension): RawBuilder<string | null> => {
  const column = (dimensionColumns as Readonly<Record<string, string>>)[dimension];
  if (column !== undefined) return sql`${sql.ref(`video_view.${column}`)}`;
  if ((derivedDimensions as readonly string[]).includes(dimension)) {
    return sql`(${derived[dimension as DerivedDimension]})::text`;
  }
  return (renditionDimensions as readonly string[]).includes(dimension)
    ? sql`(video_view.details ->> ${sql.lit(dimension as RenditionDimension)})`
    : sql`(video_view.dimensions ->> ${sql.lit(dimension)})`;
};

/** The elements of a trace as an array of text, or null. */
export const traceElements = (dimension: TraceDimension): RawBuilder<string[] | null> =>
  sql`string_to_array(video_view.dimensions ->> ${sql.lit(dimension)}, ',')`;

const numberOf = (number: ViewNumber): RawBuilder<number | null> => {
  if (typeof number === 'string') return sql`${sql.ref(`video_view.${number}`)}::float8`;
  const field = sql.lit(number.detail);
  return sql`(case when jsonb_typeof(video_view.details -> ${field}) = 'number'
    then (video_view.details ->> ${field})::float8 end)`;
};

const between0And100 = (value: RawBuilder<unknown>): RawBuilder<number | null> =>
  sql`greatest(0, least(100, ${value}))`;

// docs/compatibility.md, "Scores", gives the reasons for these formulas.
const playbackSuccess = sql<number>`(case when ${derived.playback_failure} then 0
  when ${derived.exit_before_video_start} then 50 else 100 end)::float8`;
const startupTime = sql<number | null>`(case when video_view.video_startup_time is not null
  then ${between0And100(sql`(8000 - video_view.video_startup_time) / 75.0`)} end)::float8`;
const rebuffer = sql<number | null>`(case when video_view.watch_time > 0 and video_view.rebuffer_duration is not null
  then ${between0And100(sql`100 - 1000.0 * video_view.rebuffer_duration / video_view.watch_time`)} end)::float8`;
const videoQuality = sql<number | null>`(case
  when video_view.content_playback_time > 0 and video_view.total_upscale is not null
  then ${between0And100(sql`100 - 100 * video_view.total_upscale / video_view.content_playback_time`)} end)::float8`;

const scores: Record<Score, RawBuilder<number | null>> = {
  playback_success: playbackSuccess,
  startup_time: startupTime,
  rebuffer,
  video_quality: videoQuality,
  experience: sql`(${playbackSuccess} * coalesce(
    (coalesce(${startupTime}, 0) + coalesce(${rebuffer}, 0) + coalesce(${videoQuality}, 0))
    / nullif(num_nonnulls(${startupTime}, ${rebuffer}, ${videoQuality}), 0), 100) / 100)`,
};

/** Numerator and denominator of a metric that is a quotient; both null unless the view has both. */
export const quotientParts = (
  [part, whole]: readonly [ViewNumber, ViewNumber],
  factor = 1,
): { readonly part: RawBuilder<number | null>; readonly whole: RawBuilder<number | null> } => {
  const [above, below] = [numberOf(part), numberOf(whole)];
  return {
    part: sql`(case when ${below} > 0 then ${above} * ${sql.lit(factor)} end)`,
    whole: sql`(case when ${above} is not null and ${below} > 0 then ${below} end)`,
  };
};

const sourceValue = (source: MetricSource): RawBuilder<number | null> => {
  if (source === 'views') return sql`1::float8`;
  if (source === 'viewers') return sql`(case when video_view.viewer_id is not null then 1 end)::float8`;
  if ('number' in source) return numberOf(source.number);
  if ('share' in source) return sql`(${derived[source.share]})::int::float8`;
  if ('score' in source) return scores[source.score];
  const { part, whole } = quotientParts(source.quotient, source.factor);
  return sql`(${part} / ${whole})`;
};

/** The value of a metric for one view, in the unit of the metric, or null. */
export const metricValue = (id: MetricId): RawBuilder<number | null> => sourceValue(metrics[id].source);
