import type { Dimension } from '../dimensions.js';
import { initialValues, type ViewMetric } from '../reported-values.js';
import { shortKey } from './key-words.js';

/** `once` is true from the first time that a player says so. */
export type FieldRule =
  | { readonly into: 'metrics'; readonly name: ViewMetric; readonly kind: 'integer' | 'number' }
  | { readonly into: 'dimensions'; readonly name: Dimension; readonly kind: 'text' | 'flag' | 'once' }
  | { readonly into: 'details'; readonly name: string; readonly kind: 'text' | 'url' | 'number' | 'once' };

type Rule<Into> = Extract<FieldRule, { into: Into }>;
type NamedRule = readonly [field: string, rule: FieldRule];

const metrics = (kind: Rule<'metrics'>['kind'], fields: Partial<Record<ViewMetric, string>>) =>
  Object.entries(fields).map(
    ([name, field]): NamedRule => [field, { into: 'metrics', name: name as ViewMetric, kind }],
  );

const dimensions = (kind: Rule<'dimensions'>['kind'], fields: Partial<Record<Dimension, string>>) =>
  Object.entries(fields).map(
    ([name, field]): NamedRule => [field, { into: 'dimensions', name: name as Dimension, kind }],
  );

const sameNames = (names: readonly Dimension[]) =>
  names.map((name): NamedRule => [name, { into: 'dimensions', name, kind: 'text' }]);

const details = (kind: Rule<'details'>['kind'], fields: Readonly<Record<string, string>>) =>
  Object.entries(fields).map(([name, field]): NamedRule => [field, { into: 'details', name, kind }]);

/** Names that players use, and where the values are stored under which name. */
export const storedFields: readonly NamedRule[] = [
  ...metrics('integer', {
    player_startup_time: 'player_startup_time',
    page_load_time: 'page_load_time',
    video_startup_time: 'view_time_to_first_frame',
    aggregate_startup_time: 'view_aggregate_startup_time',
    playing_time: 'view_playing_time_ms_cumulative',
    watch_time: 'view_watch_time',
    content_playback_time: 'view_content_playback_time',
    rebuffer_count: 'view_rebuffer_count',
    rebuffer_duration: 'view_rebuffer_duration',
    seek_count: 'view_seek_count',
    seek_duration: 'view_seek_duration',
    dropped_frames: 'view_dropped_frame_count',
    max_playhead: 'view_max_playhead_position',
  }),
  ...metrics('number', {
    max_upscale: 'view_max_upscale_percentage',
    max_downscale: 'view_max_downscale_percentage',
    total_upscale: 'view_total_upscaling',
    total_downscale: 'view_total_downscaling',
    request_latency: 'view_average_request_latency',
    max_request_latency: 'view_max_request_latency',
    request_throughput: 'view_average_request_throughput',
  }),
  ...sameNames([
    ...(['experiment_name', 'page_type', 'player_error_code', 'player_mux_plugin_name', 'player_name'] as const),
    ...(['player_mux_plugin_version', 'player_software_version', 'player_version', 'sub_property_id'] as const),
    ...(['video_affiliate', 'video_brand', 'video_cdn_trace', 'video_codec', 'video_content_type'] as const),
    ...(['video_creator_id', 'video_dynamic_range_type', 'video_encoding_variant', 'video_id'] as const),
    ...(['video_series', 'video_title', 'view_cdn_edge_pop', 'view_cdn_origin', 'view_drm_level'] as const),
    ...(['view_drm_type', 'viewer_connection_type', 'viewer_device_category', 'viewer_device_manufacturer'] as const),
    ...(['viewer_device_model', 'viewer_device_name', 'viewer_plan', 'viewer_plan_category'] as const),
    ...(['viewer_plan_status', 'viewer_user_id', 'custom_1', 'custom_2', 'custom_3', 'custom_4'] as const),
    ...(['custom_5', 'custom_6', 'custom_7', 'custom_8', 'custom_9', 'custom_10'] as const),
  ]),
  ...dimensions('text', {
    audio_codec: 'video_audio_codec',
    browser: 'viewer_application_name',
    browser_version: 'viewer_application_version',
    cdn: 'video_cdn',
    client_application_name: 'view_client_application_name',
    client_application_version: 'view_client_application_version',
    operating_system: 'viewer_os_family',
    operating_system_version: 'viewer_os_version',
    player_software: 'player_software_name',
    preroll_ad_asset_hostname: 'view_preroll_ad_asset_hostname',
    preroll_ad_tag_hostname: 'view_preroll_ad_tag_hostname',
    source_hostname: 'video_source_hostname',
    source_type: 'video_source_mime_type',
    stream_type: 'video_stream_type',
  }),
  ...dimensions('flag', {
    player_autoplay: 'player_autoplay_on',
    player_preload: 'player_preload_on',
    player_remote_played: 'player_remote_played',
    preroll_played: 'view_preroll_played',
    preroll_requested: 'view_preroll_requested',
    time_shift_enabled: 'view_time_shift_enabled',
    view_has_ad: 'view_has_ad',
  }),
  ...dimensions('once', { used_captions: 'player_captions_enabled', used_pip: 'player_pip_enabled' }),
  ...details('text', {
    mux_api_version: 'mux_api_version',
    mux_embed: 'mux_embed',
    mux_embed_version: 'mux_embed_version',
    mux_viewer_id: 'mux_viewer_id',
    player_error_context: 'player_error_context',
    player_error_message: 'player_error_message',
    player_instance_id: 'player_instance_id',
    player_language: 'player_language_code',
    player_source_domain: 'video_source_domain',
    session_id: 'session_id',
    video_language: 'video_language_code',
    video_producer: 'video_producer',
    video_variant_id: 'video_variant_id',
    video_variant_name: 'video_variant_name',
    viewer_application_engine: 'viewer_application_engine',
    viewer_os_architecture: 'viewer_os_architecture',
  }),
  ...details('url', { player_poster: 'video_poster_url' }),
  ...details('number', {
    player_height: 'player_height',
    player_view_count: 'player_view_count',
    player_width: 'player_width',
    requests_for_first_preroll: 'view_preroll_request_count',
    video_duration: 'video_source_duration',
    video_source_bitrate: 'video_source_bitrate',
    video_source_fps: 'video_source_fps',
    video_source_height: 'video_source_height',
    video_source_width: 'video_source_width',
    video_startup_preroll_load_time: 'view_startup_preroll_load_time',
    video_startup_preroll_request_time: 'view_startup_preroll_request_time',
  }),
  ...details('once', { used_fullscreen: 'player_is_fullscreen' }),
];

/** By the short keys of the fields. */
export const fieldRules: ReadonlyMap<string, FieldRule> = new Map(
  storedFields.map(([field, rule]) => [shortKey(field), rule]),
);

/** Short keys of fields that say which view an event belongs to, when it was, and more. */
export const eventKeys = {
  environment: shortKey('env_key'),
  view: shortKey('view_id'),
  name: shortKey('event'),
  sequence: shortKey('view_sequence_number'),
  /** Milliseconds since 1970, by the clock of the viewer; so is the next one. */
  time: shortKey('viewer_time'),
  viewStart: shortKey('view_start'),
  playhead: shortKey('player_playhead_time'),
  watchTime: shortKey('view_watch_time'),
  playedRanges: shortKey('video_playback_range'),
  sourceUrl: shortKey('video_source_url'),
  videoId: shortKey('video_id'),
  isLive: shortKey('video_source_is_live'),
  streamType: shortKey('video_stream_type'),
  /** When the frame that is shown was recorded, as the playlist says. */
  programTime: shortKey('player_program_time'),
  pageUrl: shortKey('page_url'),
  userId: shortKey('viewer_user_id'),
  viewerId: shortKey('mux_viewer_id'),
  viewSession: shortKey('view_session_id'),
  errorCode: shortKey('player_error_code'),
  errorMessage: shortKey('player_error_message'),
  errorSeverity: shortKey('player_error_severity'),
  isBusinessException: shortKey('player_error_business_exception'),
} as const;

/** Names under which the first value of a field is kept, by its short key. */
export const initialNames: ReadonlyMap<string, string> = new Map(
  Object.entries(initialValues).map(([name, field]) => [shortKey(field), name]),
);

/** What is kept of events beside their times, under these names. */
const detailsOfEvents: Readonly<Record<string, readonly string[]>> = {
  error: ['player_error_code', 'player_error_message', 'player_error_severity'],
  renditionchange: [
    ...['video_source_bitrate', 'video_source_width', 'video_source_height', 'video_source_fps'],
    ...['video_source_codec', 'video_source_rendition_name'],
  ],
  playbackmodechange: ['player_playback_mode'],
  networkchange: ['viewer_connection_type'],
  cdnchange: ['video_cdn'],
};

/** By the names of events. */
export const eventDetails: ReadonlyMap<string, readonly (readonly [key: string, name: string])[]> = new Map(
  Object.entries(detailsOfEvents).map(([event, names]) => [event, names.map((name) => [shortKey(name), name])]),
);
