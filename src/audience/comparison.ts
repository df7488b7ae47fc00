import type { MetricId } from './metrics.js';

interface MetricGroup {
  /** For people. */
  readonly name: string;
  /** The score of the group, when it has one. */
  readonly score?: MetricId;
  readonly items: readonly MetricId[];
}

/** All metrics but those of engagement, in the order in which a comparison lists them. */
export const metricGroups: readonly MetricGroup[] = [
  { name: 'Overall', score: 'viewer_experience_score', items: ['view_dropped_percentage'] },
  {
    name: 'Playback Success',
    score: 'playback_success_score',
    items: [
      'playback_failure_percentage',
      'video_startup_failure_percentage',
      'exits_before_video_start',
      'playback_business_exception_percentage',
      'video_startup_business_exception_percentage',
    ],
  },
  {
    name: 'Startup Time',
    score: 'startup_time_score',
    items: [
      'video_startup_time',
      'player_startup_time',
      'page_load_time',
      'aggregate_startup_time',
      'view_content_startup_time',
      'seek_latency',
    ],
  },
  {
    name: 'Rebuffering',
    score: 'rebuffer_score',
    items: ['rebuffer_percentage', 'rebuffer_frequency', 'rebuffer_duration', 'rebuffer_count'],
  },
  {
    name: 'Video Quality',
    score: 'video_quality_score',
    items: [
      'upscale_percentage',
      'downscale_percentage',
      'max_upscale_percentage',
      'max_downscale_percentage',
      'weighted_average_bitrate',
      'rendition_change_count',
      'rendition_upshift_count',
      'rendition_downshift_count',
    ],
  },
  {
    name: 'Delivery',
    items: ['live_stream_latency', 'request_latency', 'max_request_latency', 'request_throughput'],
  },
  {
    name: 'Advertising',
    items: [
      'ad_attempt_count',
      'ad_break_count',
      'ad_break_error_count',
      'ad_break_error_percentage',
      'ad_error_count',
      'ad_error_percentage',
      'ad_exit_before_start_count',
      'ad_exit_before_start_percentage',
      'ad_impression_count',
      'ad_startup_error_count',
      'ad_startup_error_percentage',
      'ad_preroll_startup_time',
      'requests_for_first_preroll',
      'video_startup_preroll_load_time',
      'video_startup_preroll_request_time',
    ],
  },
];
