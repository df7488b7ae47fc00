/** Dimensions that most reports use. */
export const basicDimensions = [
  'asn',
  'asset_id',
  'browser',
  'browser_version',
  'cdn',
  'continent_code',
  'country',
  'exit_before_video_start',
  'experiment_name',
  'live_stream_id',
  'operating_system',
  'operating_system_version',
  'page_type',
  'page_url',
  'playback_business_exception',
  'playback_failure',
  'playback_id',
  'player_autoplay',
  'player_error_code',
  'player_mux_plugin_name',
  'player_mux_plugin_version',
  'player_name',
  'player_preload',
  'player_remote_played',
  'player_software',
  'player_software_version',
  'player_version',
  'region',
  'source_hostname',
  'source_type',
  'stream_type',
  'sub_property_id',
  'video_content_type',
  'video_encoding_variant',
  'video_id',
  'video_series',
  'video_startup_business_exception',
  'video_startup_failure',
  'video_title',
  'view_drm_type',
  'view_dropped',
  'view_has_ad',
  'view_session_id',
  'viewer_connection_type',
  'viewer_device_category',
  'viewer_device_manufacturer',
  'viewer_device_model',
  'viewer_device_name',
  'viewer_user_id',
] as const;

export const advancedDimensions = [
  'ad_playback_failure',
  'audio_codec',
  'client_application_name',
  'client_application_version',
  'content_playback_failure',
  'custom_1',
  'custom_2',
  'custom_3',
  'custom_4',
  'custom_5',
  'custom_6',
  'custom_7',
  'custom_8',
  'custom_9',
  'custom_10',
  'preroll_ad_asset_hostname',
  'preroll_ad_tag_hostname',
  'preroll_played',
  'preroll_requested',
  'time_shift_enabled',
  'used_captions',
  'used_pip',
  'video_affiliate',
  'video_brand',
  'video_cdn_trace',
  'video_codec',
  'video_creator_id',
  'video_dynamic_range_type',
  'view_cdn_edge_pop',
  'view_cdn_origin',
  'view_drm_level',
  'viewer_plan',
  'viewer_plan_category',
  'viewer_plan_status',
] as const;

/** What views are filtered and grouped by, named as in the API and in `video_view.dimensions`. */
export type Dimension = (typeof basicDimensions)[number] | (typeof advancedDimensions)[number];

/** Columns of `video_view`; the values of all other dimensions are in its column `dimensions`. */
export const dimensionColumns = {
  asset_id: 'asset_id',
  live_stream_id: 'live_stream_id',
  playback_id: 'playback_id',
  view_session_id: 'session_id',
} as const;

/** What the first chosen rendition and the last one were. Views are grouped by them, too. */
export const renditionDimensions = [
  'audio_codec_initial',
  'video_codec_initial',
  'video_dynamic_range_type_initial',
  'video_source_bitrate',
  'video_source_bitrate_initial',
  'video_source_fps',
  'video_source_fps_initial',
  'video_source_height',
  'video_source_height_initial',
  'video_source_width',
  'video_source_width_initial',
] as const;

/** Their values are in the column `details`. */
export type RenditionDimension = (typeof renditionDimensions)[number];

export type AnyDimension = Dimension | RenditionDimension;

/** All that a request may name. */
export const allDimensions: readonly AnyDimension[] = [
  ...basicDimensions,
  ...advancedDimensions,
  ...renditionDimensions,
];

/**
 * Dimensions with several values in an order. `video_view.dimensions` holds them separated by
 * commas.
 */
export const traceDimensions = ['video_cdn_trace'] as const;
export type TraceDimension = (typeof traceDimensions)[number];

export const isDimension = (name: string): name is AnyDimension => (allDimensions as readonly string[]).includes(name);
export const isTraceDimension = (name: string): name is TraceDimension =>
  (traceDimensions as readonly string[]).includes(name);

/** They follow from columns of a view instead of being stored; `true` or `false`. */
export const derivedDimensions = [
  'exit_before_video_start',
  'playback_business_exception',
  'playback_failure',
  'video_startup_business_exception',
  'video_startup_failure',
  'view_dropped',
] as const;
export type DerivedDimension = (typeof derivedDimensions)[number];
