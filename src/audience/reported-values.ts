/** Columns with what players measure, as whole numbers and as others. */
export const integerMetrics = [
  ...(['player_startup_time', 'page_load_time', 'video_startup_time', 'aggregate_startup_time'] as const),
  ...(['playing_time', 'watch_time', 'content_playback_time', 'rebuffer_count', 'rebuffer_duration'] as const),
  ...(['seek_count', 'seek_duration', 'dropped_frames', 'max_playhead'] as const),
] as const;
export const numberMetrics = [
  ...(['max_upscale', 'max_downscale', 'total_upscale', 'total_downscale', 'request_latency'] as const),
  ...(['max_request_latency', 'request_throughput', 'live_latency'] as const),
] as const;
export type ViewMetric = (typeof integerMetrics | typeof numberMetrics)[number];

/** In one view. */
export const MAX_EVENTS = 300;
export const MAX_RANGES = 300;

/** Their newest value counts; all other metrics only grow. */
export const averages: ReadonlySet<ViewMetric> = new Set(['request_latency', 'request_throughput', 'live_latency']);

/**
 * What the first rendition was, beside the names under which players report what it is. Both are in
 * `video_view.details`.
 */
export const initialValues = {
  audio_codec_initial: 'video_audio_codec',
  video_codec_initial: 'video_codec',
  video_dynamic_range_type_initial: 'video_dynamic_range_type',
  video_source_bitrate_initial: 'video_source_bitrate',
  video_source_fps_initial: 'video_source_fps',
  video_source_height_initial: 'video_source_height',
  video_source_width_initial: 'video_source_width',
} as const;
