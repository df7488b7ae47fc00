const ASSET_ID = 'Kq3vT8sWbN1xJ6yHf0ZpR4uLdE2mC7aGKq3vT8sW';
const LIVE_STREAM_ID = 'Lw5hY2nQfT9cV7bMx3RkZ8pJsG4dE6aULw5hY2nQ';
const STARTED_AT = 1_767_225_600;

const played = { views: 42, watch_time: 5_130_000, rebuffer_percentage: 0.004 };
const startup = { startup_time_median: 640, startup_time_p95: 2210 };
const figures = {
  ...played,
  playing_time: 5_064_000,
  ...startup,
  rebuffer_count: 11,
  playback_failures: 1,
  startup_failures: 1,
  exits_before_start: 2,
};
const valued = (value: string) => [{ value, ...played }];

/** Resources by the title of their schema. */
export const overviewExamples = {
  AudienceOverview: {
    totals: figures,
    previous: { ...figures, views: 35, watch_time: 4_010_000 },
    interval: 'hour',
    points: [{ time: STARTED_AT, ...played, ...startup }],
    viewers: { now: 3, peak: 12, peak_at: STARTED_AT + 1230 },
    errors: [{ id: 7, code: '2004', message: 'The network was lost', views: 1 }],
    devices: valued('desktop'),
    countries: valued('NZ'),
    browsers: valued('Firefox'),
    operating_systems: valued('Linux'),
    assets: [{ id: ASSET_ID, title: 'Harbor walk', is_deleted: false, ...played }],
    live_streams: [{ id: LIVE_STREAM_ID, title: 'Council meeting', is_deleted: false, ...played }],
  },
  CurrentViewers: {
    now: 3,
    live_streams: [{ id: LIVE_STREAM_ID, title: 'Council meeting', viewers: 2 }],
    points: [{ time: STARTED_AT, viewers: 3 }],
  },
  AssetRetention: {
    views: 42,
    duration: 10_000,
    points: [
      { time: 0, watching: 1, plays: 1.1 },
      { time: 1000, watching: 0.95, plays: 0.97 },
    ],
    hotspots: [{ start_ms: 4000, end_ms: 6000, score: 1 }],
  },
};
