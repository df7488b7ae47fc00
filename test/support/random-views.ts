import type { Queryable } from '#kinora/db/database.js';
import type { NewRow, Row } from '#kinora/db/schema.js';

export type View = Row<'video_view'>;

/** Random numbers from 0 to 1, always the same ones for a seed. */
const seeded = (seed: number): (() => number) => {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
};

interface ViewsOptions {
  readonly environmentId: string;
  readonly count: number;
  /** They start in the days before this time; most end before it. */
  readonly until: Date;
  readonly days: number;
  readonly seed: number;
}

/**
 * Views as players report them: some have failed or never started, some are not over, and every
 * value may be missing.
 */
export const randomViews = ({ environmentId, count, until, days, seed }: ViewsOptions): View[] => {
  const random = seeded(seed);
  const integer = (max: number) => Math.floor(random() * max);
  const maybe = <T>(value: T): T | null => (random() < 0.85 ? value : null);
  const oneOf = <T>(...values: T[]): T => values[integer(values.length)]!;
  return Array.from({ length: count }, (_, at) => {
    const startedMs = until.getTime() - Math.floor(random() * days * 86_400_000);
    const watchTime = integer(600_000);
    const seenAt = new Date(startedMs + watchTime);
    const isStartupFailure = random() < 0.05;
    const hasStarted = !isStartupFailure && random() < 0.9;
    const whenStarted = <T>(value: T): T | null => (hasStarted ? maybe(value) : null);
    const changes = integer(6);
    const dimensions: Record<string, string | null> = {
      country: maybe(oneOf('DE', 'US', 'FR', 'JP')),
      browser: maybe(oneOf('Safari', 'Chrome', 'Firefox')),
      viewer_device_category: maybe(oneOf('phone', 'desktop')),
      video_title: maybe(oneOf('Harbor, at dusk', 'Émile: "part 2"', "O'Hara")),
      video_cdn_trace: maybe(oneOf('fastly', 'fastly,akamai', 'akamai,fastly', 'akamai,akamai')),
    };
    return {
      environment_id: environmentId,
      id: `view-${seed}-${at}`,
      started_at: new Date(startedMs),
      seen_at: seenAt,
      ended_at: random() < 0.95 ? seenAt : null,
      is_summed: false,
      asset_id: maybe(oneOf('asset-a', 'asset-b')),
      live_stream_id: random() < 0.1 ? 'live-a' : null,
      playback_id: maybe(oneOf('play-a', 'play-b', 'play-c')),
      viewer_id: maybe(`viewer-${integer(count / 3)}`),
      session_id: maybe(`session-${integer(count / 2)}`),
      error_id: null,
      dimensions: Object.fromEntries(Object.entries(dimensions).filter(([, value]) => value !== null)) as never,
      details: {
        video_source_height: oneOf(360, 720, 1080),
        ...(random() < 0.2 && { ad_attempt_count: 1 + integer(3), ad_error_count: integer(2) }),
        // A field of the wrong type counts as unknown.
        ...(random() < 0.1 && { ad_break_count: 'three' }),
      },
      player_startup_time: maybe(integer(900)),
      page_load_time: maybe(integer(3000)),
      video_startup_time: whenStarted(integer(12_000)),
      aggregate_startup_time: whenStarted(integer(15_000)),
      playing_time: maybe(hasStarted ? Math.floor(watchTime * 0.9) : 0),
      watch_time: maybe(watchTime),
      content_playback_time: maybe(hasStarted ? Math.floor(watchTime * 0.9) : 0),
      rebuffer_count: maybe(integer(4)),
      rebuffer_duration: maybe(Math.floor(watchTime * random() * 0.15)),
      seek_count: maybe(integer(3)),
      seek_duration: maybe(integer(4000)),
      max_upscale: maybe(random() * 3),
      max_downscale: maybe(random()),
      total_upscale: maybe(random() * watchTime),
      total_downscale: maybe(random() * watchTime * 0.3),
      request_latency: maybe(random() * 400),
      max_request_latency: maybe(400 + random() * 400),
      request_throughput: maybe(random() * 2e7),
      average_bitrate: maybe(random() * 6e6),
      live_latency: random() < 0.1 ? integer(20_000) : null,
      rendition_changes: maybe(changes),
      rendition_upshifts: maybe(Math.ceil(changes / 2)),
      rendition_downshifts: maybe(Math.floor(changes / 2)),
      dropped_frames: maybe(integer(50)),
      max_playhead: maybe(integer(60_000)),
      is_startup_failure: isStartupFailure,
      is_playback_failure: isStartupFailure || random() < 0.05,
      is_business_exception: random() < 0.2,
      is_dropped: random() < 0.1,
      ranges: [],
      events: [],
    };
  });
};

export const insertViews = async (db: Queryable, views: readonly View[]): Promise<void> => {
  for (let at = 0; at < views.length; at += 500) {
    const rows = views.slice(at, at + 500).map((view) => ({
      ...view,
      dimensions: JSON.stringify(view.dimensions),
      details: JSON.stringify(view.details),
      ranges: JSON.stringify(view.ranges),
      events: JSON.stringify(view.events),
    }));
    await db
      .insertInto('video_view')
      .values(rows as NewRow<'video_view'>[])
      .execute();
  }
};
