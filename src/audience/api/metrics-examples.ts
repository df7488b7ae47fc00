const watched = { total_watch_time: 5_128_400, total_playing_time: 5_004_100 };

/** Resources by the title of their schema. */
export const metricsExamples = {
  MetricValue: {
    ...{ name: 'Video Startup Time', metric: 'video_startup_time', type: 'milliseconds' },
    ...{ measurement: 'median', value: 612 },
  },
  MetricGroup: {
    name: 'Startup Time',
    metric: 'startup_time_score',
    type: 'score',
    value: 96.4,
    items: [
      {
        ...{ name: 'Video Startup Time', metric: 'video_startup_time', type: 'milliseconds' },
        ...{ measurement: 'median', value: 612 },
      },
    ],
  },
  MetricInterval: ['2026-01-01T00:00:00Z', 612, 14],
  OverallValue: { value: 612, total_views: 48, ...watched },
  BreakdownValue: { field: 'DE', value: 705, views: 21, ...watched, negative_impact: 1953 },
  Insight: {
    ...{ filter_column: 'browser', filter_value: 'Safari', metric: 840, total_views: 9 },
    ...{ ...watched, negative_impact_score: 2052 },
  },
  Dimensions: { basic: ['asset_id', 'browser', 'country'], advanced: ['custom_1', 'video_codec'] },
  DimensionValue: { value: 'DE', total_count: 21 },
  PlaybackError: {
    id: 7,
    code: 3,
    player_error_code: '3',
    message: 'The video could not be decoded',
    description: null,
    notes: null,
    count: 2,
    percentage: 0.0417,
    last_seen: '2026-01-01T00:00:00Z',
  },
};
