import { Type } from 'typebox';
import { id } from '../../api/schemas/response.js';
import type { AudienceFigures, AudiencePoint, PlayedFigures } from '../calculations/summarize.js';
import type { Overview, TitledFigures, ValueFigures } from '../read-overview.js';
import type { AssetRetention } from '../read-retention.js';
import type { CurrentViewers } from '../read-viewers.js';

const { Array: List, Boolean: Flag, Enum, Integer, Null, Number: Numeric, Object: Fields, String: Text, Union } = Type;

const count = (description: string) => Integer({ description });
const milliseconds = (description: string) => Numeric({ description: `${description}, in milliseconds` });
const unixTime = (description: string) => Integer({ description: `${description}, in Unix seconds` });
const orNull = <T extends Parameters<typeof List>[0]>(schema: T, description: string) =>
  Union([schema, Null()], { description });

const played = {
  views: count('Number of views that began in this time'),
  watch_time: milliseconds('How long viewers watched, including waiting'),
  rebuffer_percentage: orNull(
    Numeric(),
    'The part of the watch time that viewers waited for data, from 0 to 1. `null` if nobody watched',
  ),
};
const startup = {
  startup_time_median: orNull(
    Numeric(),
    'Half of the views showed a frame within so many milliseconds, within 3 %. `null` if none did',
  ),
  startup_time_p95: orNull(Numeric(), 'The same for 95 % of the views'),
};
const figures = {
  ...played,
  playing_time: milliseconds('How long video was played'),
  ...startup,
  rebuffer_count: count('How often viewers waited for data'),
  playback_failures: count('Views that ended with a failure of playback, also before the first frame'),
  startup_failures: count('Views that failed before the first frame'),
  exits_before_start: count('Views that ended before the first frame without a failure'),
};

const ByValue = Fields({ value: Text({ description: 'The value that the views have in common' }), ...played });
const valuesOf = (what: string) => List(ByValue, { description: `The ten ${what} with the most views` });
const titled = (what: string) =>
  List(
    Fields({
      id: id(`ID of the ${what}`),
      title: orNull(Text(), `Title of the ${what}. \`null\` if it has none or is deleted`),
      is_deleted: Flag({ description: `Whether the ${what} is deleted` }),
      ...played,
    }),
    { description: `The ten ${what}s with the most views` },
  );

export const OverviewResponse = Fields(
  {
    totals: Fields(figures, { description: 'All views of the time' }),
    previous: Fields(figures, { description: 'All views of the time of the same length before' }),
    interval: Enum(['hour', 'day'], { description: 'What a point covers: an hour, or a day in UTC' }),
    points: List(Fields({ time: unixTime('When the hour or day starts'), ...played, ...startup }), {
      description: 'The views by the hour or day in which they began, also those without views',
    }),
    viewers: Fields(
      {
        now: count('Views that were reported in the last 30 seconds and have not ended'),
        peak: count(
          'The most views within 10 seconds. Without `asset_id` and `live_stream_id`, only the last 24 hours count',
        ),
        peak_at: orNull(Integer(), 'When those 10 seconds began, in Unix seconds. `null` without a view'),
      },
      { description: 'Views at the same time' },
    ),
    errors: List(
      Fields({
        id: Integer({ description: 'ID of the error' }),
        code: Text({ description: 'Code of the error, as players report it' }),
        message: Text({ description: 'Message of the error, as players report it' }),
        views: count('Number of views that ended with this error'),
      }),
      { description: 'The ten errors with the most views' },
    ),
    devices: valuesOf('kinds of devices'),
    countries: valuesOf('countries'),
    browsers: valuesOf('browsers'),
    operating_systems: valuesOf('operating systems'),
    assets: titled('asset'),
    live_streams: titled('live stream'),
  },
  { title: 'AudienceOverview', description: 'Who watched in a time, and how well it played' },
);

const playedOf = ({ views, watchMs, rebufferShare }: PlayedFigures) => ({
  views,
  watch_time: watchMs,
  rebuffer_percentage: rebufferShare,
});
const startupOf = ({ startupMedianMs, startupP95Ms }: AudienceFigures) => ({
  startup_time_median: startupMedianMs,
  startup_time_p95: startupP95Ms,
});
const serializeFigures = (of: AudienceFigures) => ({
  ...playedOf(of),
  playing_time: of.playingMs,
  ...startupOf(of),
  rebuffer_count: of.rebuffers,
  playback_failures: of.playbackFailures,
  startup_failures: of.startupFailures,
  exits_before_start: of.exits,
});
const serializePoint = (point: AudiencePoint) => ({
  time: secondsOf(point.time),
  ...playedOf(point),
  ...startupOf(point),
});
const serializeValue = (of: ValueFigures) => ({ value: of.value, ...playedOf(of) });
const serializeTitled = (of: TitledFigures) => ({
  id: of.id,
  title: of.title,
  is_deleted: of.isDeleted,
  ...playedOf(of),
});
const secondsOf = (time: Date): number => Math.floor(time.getTime() / 1000);

export const serializeOverview = (overview: Overview) => {
  const { viewers, byDimension } = overview;
  return {
    totals: serializeFigures(overview.totals),
    previous: serializeFigures(overview.previous),
    interval: overview.unit,
    points: overview.points.map(serializePoint),
    viewers: { now: viewers.now, peak: viewers.peak, peak_at: viewers.peakAt && secondsOf(viewers.peakAt) },
    errors: overview.errors,
    devices: byDimension.viewer_device_category.map(serializeValue),
    countries: byDimension.country.map(serializeValue),
    browsers: byDimension.browser.map(serializeValue),
    operating_systems: byDimension.operating_system.map(serializeValue),
    assets: overview.assets.map(serializeTitled),
    live_streams: overview.liveStreams.map(serializeTitled),
  };
};

export const CurrentViewersResponse = Fields(
  {
    now: count('Views that were reported in the last 30 seconds and have not ended'),
    live_streams: List(
      Fields({
        id: id('ID of the live stream'),
        title: orNull(Text(), 'Title of the live stream. `null` if it has none or is deleted'),
        viewers: count('Views of the live stream at this moment'),
      }),
      { description: 'The live streams that are watched at this moment, most viewers first' },
    ),
    points: List(
      Fields({
        time: unixTime('When the 10 seconds begin'),
        viewers: count('Views within these 10 seconds'),
      }),
      { description: 'The last 30 minutes in steps of 10 seconds' },
    ),
  },
  { title: 'CurrentViewers', description: 'Who watches at this moment' },
);

export const serializeCurrentViewers = ({ now, liveStreams, points }: CurrentViewers) => ({
  now,
  live_streams: liveStreams,
  points: points.map(({ time, viewers }) => ({ time: secondsOf(time), viewers })),
});

export const RetentionResponse = Fields(
  {
    views: count('Views that played something'),
    duration: milliseconds('Length of the asset, or of what was watched of it'),
    points: List(
      Fields({
        time: milliseconds('Where the part starts'),
        watching: Numeric({ description: 'The share of the views that played some of the part, from 0 to 1' }),
        plays: Numeric({ description: 'How often a view played the part on average' }),
      }),
      { description: 'Parts of equal length: one per second, but at least 10 and at most 1,000' },
    ),
    hotspots: List(
      Fields({
        start_ms: Integer({ description: 'Start of the hotspot, in milliseconds' }),
        end_ms: Integer({ description: 'End of the hotspot (exclusive), in milliseconds' }),
        score: Numeric({ description: 'How often it was played, as a share of the part that was played most' }),
      }),
      { description: 'The parts that views play far more often than others, most played first' },
    ),
  },
  { title: 'AssetRetention', description: 'How many views still watch at each time of an asset' },
);

export const serializeRetention = ({ views, durationMs, points, hotspots }: AssetRetention) => ({
  views,
  duration: durationMs,
  points: points.map(({ timeMs, ...point }) => ({ time: timeMs, ...point })),
  hotspots,
});
