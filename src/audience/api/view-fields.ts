import type { StoredView } from '../tables/video-view.js';

/**
 * What a field holds. `text`, `number`, `share` (a number as text) and `flag?` are null while they
 * are unknown; `flag` is then false, and `list` empty. `time` is never unknown.
 */
export type FieldKind = 'text' | 'number' | 'share' | 'flag' | 'flag?' | 'list' | 'time';

/** A dimension or a field of the details, or how the value follows from columns. */
type Source = string | ((view: StoredView) => unknown);

export interface ViewField {
  readonly kind: FieldKind;
  readonly description: string;
  /** The name of the field when absent. */
  readonly source?: Source;
}

const of =
  (kind: FieldKind) =>
  (description: string, source?: Source): ViewField => ({ kind, description, ...(source && { source }) });
const [text, number, share, flag, flagOrNull] = [of('text'), of('number'), of('share'), of('flag'), of('flag?')];
const [list, time] = [of('list'), of('time')];

const countries = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });

const countryName = ({ dimensions: { country } }: StoredView): string | undefined =>
  country !== undefined && /^[A-Za-z]{2}$/.test(country) ? countries.of(country.toUpperCase()) : undefined;

const join = (parts: readonly (string | undefined)[], separator: string): string | null =>
  parts.filter((part) => part !== undefined && part !== '').join(separator) || null;

const errorIf =
  (applies: (view: StoredView) => boolean) =>
  (view: StoredView): number | null =>
    applies(view) ? view.error_id : null;
const failed = ({ is_playback_failure, is_startup_failure }: StoredView): boolean =>
  is_playback_failure || is_startup_failure;

const quotient = (part: number | null, whole: number | null): number | null =>
  part !== null && whole !== null && whole > 0 ? part / whole : null;

const viewEnd = ({ ended_at, seen_at }: StoredView): Date => ended_at ?? seen_at;

/** The fields of a view but its events, in the order of responses and of columns. */
export const viewFields: Readonly<Record<string, ViewField>> = {
  id: text('ID of the view, as the player made it', ({ id }) => id),
  view_id: text('The same as `id`', ({ id }) => id),
  environment_id: text('ID of the environment', ({ environment_id }) => environment_id),
  property_id: number('Always 0; `environment_id` names the environment', () => 0),
  view_start: time('When the view began', ({ started_at }) => started_at),
  view_end: time('When the view ended, or was last reported while it continues', viewEnd),
  short_time: text('Time of day at which the view began, in UTC', ({ started_at }) =>
    started_at.toISOString().slice(11, 16),
  ),
  inserted_at: time('When the view became known', ({ started_at }) => started_at),
  updated_at: time('When the view was last reported', ({ seen_at }) => seen_at),

  asset_id: text('ID of the asset, if it was one', ({ asset_id }) => asset_id),
  live_stream_id: text('ID of the live stream, if it was one', ({ live_stream_id }) => live_stream_id),
  playback_id: text('The playback ID that was played', ({ playback_id }) => playback_id),
  video_id: text('ID of the video, as its page names it'),
  video_title: text('Title of the video'),
  video_series: text('Series that the video belongs to'),
  video_producer: text('Who produced the video'),
  video_creator_id: text('ID of who created the video'),
  video_brand: text('Brand of the video'),
  video_affiliate: text('Affiliate of the video'),
  video_content_type: text('Kind of content, such as `short` or `movie`'),
  video_language: text('Language of the video'),
  video_variant_id: text('ID of the variant of the video'),
  video_variant_name: text('Name of the variant of the video'),
  video_encoding_variant: text('How the video was encoded, as its page names it'),
  video_duration: number('Duration of the video in milliseconds'),
  video_stream_type: text('`on-demand` or `live`, as the player reports it', 'stream_type'),
  video_cdn_trace: list('Networks that delivered the video, in order'),
  cdn: text('Network that delivered the video'),
  view_cdn_edge_pop: text('Location of the network that delivered the video'),
  view_cdn_origin: text('Origin of the network that delivered the video'),
  view_drm_type: text('DRM system that was used'),
  view_drm_level: text('Level of the DRM system'),
  experiment_name: text('Name of the experiment, as the page says'),
  sub_property_id: text('Name of the part of the environment, as the page says'),
  ...Object.fromEntries(
    Array.from({ length: 10 }, (_, at) => [`custom_${at + 1}`, text(`Custom dimension ${at + 1} of the page`)]),
  ),

  video_codec: text('Codec of the last video rendition'),
  video_codec_initial: text('Codec of the first video rendition'),
  audio_codec: text('Codec of the last audio rendition'),
  audio_codec_initial: text('Codec of the first audio rendition'),
  video_dynamic_range_type: text('Dynamic range of the last rendition'),
  video_dynamic_range_type_initial: text('Dynamic range of the first rendition'),
  video_source_bitrate: number('Bitrate of the last rendition in bits per second'),
  video_source_bitrate_initial: number('Bitrate of the first rendition in bits per second'),
  video_source_fps: number('Frame rate of the last rendition'),
  video_source_fps_initial: number('Frame rate of the first rendition'),
  video_source_height: number('Height of the last rendition in pixels'),
  video_source_height_initial: number('Height of the first rendition in pixels'),
  video_source_width: number('Width of the last rendition in pixels'),
  video_source_width_initial: number('Width of the first rendition in pixels'),

  watched: flag('Whether a frame was displayed', ({ video_startup_time }) => video_startup_time !== null),
  watch_time: number('Time the viewer spent with the view, in milliseconds', ({ watch_time }) => watch_time),
  view_playing_time: share('Time that the video played, in milliseconds', ({ playing_time }) => playing_time),
  view_total_content_playback_time: number(
    'Media time that was played, in milliseconds',
    ({ content_playback_time }) => content_playback_time,
  ),
  view_max_playhead_position: share('Furthest media time, in milliseconds', ({ max_playhead }) => max_playhead),
  time_to_first_frame: number(
    'From the attempt to play to the first frame, in milliseconds',
    ({ video_startup_time }) => video_startup_time,
  ),
  view_content_startup_time: number('Startup time of the video without ads, in milliseconds'),
  player_startup_time: number('Time that the player took to be ready, in ms', (view) => view.player_startup_time),
  player_load_time: number('The same as `player_startup_time`', (view) => view.player_startup_time),
  page_load_time: number('Time that the page took to load, in milliseconds', ({ page_load_time }) => page_load_time),
  exit_before_video_start: flag(
    'Whether the view ended before the first frame, without a failure',
    (view) => view.ended_at !== null && view.video_startup_time === null && !failed(view),
  ),
  view_dropped: flag(
    'Whether the view ended without its last report',
    ({ ended_at, is_dropped }) => ended_at !== null && is_dropped,
  ),

  buffering_count: number('How often the video stalled', ({ rebuffer_count }) => rebuffer_count),
  buffering_duration: number('How long it stalled, in milliseconds', ({ rebuffer_duration }) => rebuffer_duration),
  buffering_rate: share('How often it stalled for each millisecond of `watch_time`', (view) =>
    quotient(view.rebuffer_count, view.watch_time),
  ),
  rebuffer_percentage: share('Share of `watch_time` in which it stalled', (view) =>
    quotient(view.rebuffer_duration, view.watch_time),
  ),
  long_rebuffering: flag('Whether a stall was very long, as the player reports it'),
  long_resume: flag('Whether it took very long to continue, as the player reports it'),
  view_seek_count: number('How often the viewer sought', ({ seek_count }) => seek_count),
  view_seek_duration: number('How long seeks took together, in milliseconds', ({ seek_duration }) => seek_duration),
  rendition_change_count: number('How often the rendition changed', ({ rendition_changes }) => rendition_changes),
  rendition_upshift_count: number('Changes to a larger rendition', ({ rendition_upshifts }) => rendition_upshifts),
  rendition_downshift_count: number(
    'Changes to a smaller rendition',
    ({ rendition_downshifts }) => rendition_downshifts,
  ),
  weighted_average_bitrate: number('Mean bitrate in bits per second', ({ average_bitrate }) => average_bitrate),
  view_dropped_frame_count: number('Frames that the player dropped', ({ dropped_frames }) => dropped_frames),
  view_max_upscale_percentage: share('Largest upscaling: 0.5 is half again as large', ({ max_upscale }) => max_upscale),
  view_max_downscale_percentage: share('Largest downscaling: 0.5 is half as large', (view) => view.max_downscale),
  view_total_upscaling: share('Upscaling times its duration in milliseconds', ({ total_upscale }) => total_upscale),
  view_total_downscaling: share('Downscaling times its duration in ms', ({ total_downscale }) => total_downscale),
  view_average_request_latency: number('Mean latency of requests, in milliseconds', (view) => view.request_latency),
  view_max_request_latency: number('Largest latency of a request, in ms', (view) => view.max_request_latency),
  view_average_request_throughput: number('Mean throughput in bits per second', (view) => view.request_throughput),
  live_stream_latency: number('How far behind the broadcast it played, in ms', ({ live_latency }) => live_latency),

  viewer_experience_score: share('Score of the whole view, from 0 to 100', (view) => view.viewer_experience_score),
  playback_score: share('Score of failures, from 0 to 100', (view) => view.playback_success_score),
  startup_score: share('Score of the startup time, from 0 to 100', (view) => view.startup_time_score),
  rebuffering_score: share('Score of stalls, from 0 to 100', (view) => view.rebuffer_score),
  quality_score: share('Score of upscaling, from 0 to 100', (view) => view.video_quality_score),

  error_type_id: number('ID of the error that the view ended with', ({ error_id }) => error_id),
  view_error_id: number('The same as `error_type_id`', ({ error_id }) => error_id),
  playback_failure: flag('Whether an error ended it', (view) => failed(view) && !view.is_business_exception),
  playback_failure_error_type_id: number(
    'ID of the error if playback failed',
    errorIf((view) => failed(view) && !view.is_business_exception),
  ),
  playback_business_exception_error_type_id: number(
    'ID of the error if it was not a failure of the video',
    errorIf((view) => failed(view) && view.is_business_exception),
  ),
  video_startup_failure: flag(
    'Whether an error ended it before the first frame',
    (view) => view.is_startup_failure && !view.is_business_exception,
  ),
  video_startup_business_exception_error_type_id: number(
    'ID of the error before the first frame if it was not a failure of the video',
    errorIf((view) => view.is_startup_failure && view.is_business_exception),
  ),
  player_error_code: text('Code of the error, as the player reports it'),
  player_error_message: text('Message of the error, as the player reports it'),
  player_error_context: text('What the player says beside the error'),

  session_id: text(
    'ID of the session of the viewer',
    ({ details, session_id, id }) => details.session_id ?? session_id ?? id,
  ),
  view_session_id: text('ID of the session, as the page names it', ({ session_id }) => session_id),
  mux_viewer_id: text(
    'ID of the viewer, as the player made it; empty if none',
    ({ details, viewer_id }) => details.mux_viewer_id ?? viewer_id ?? '',
  ),
  viewer_user_id: text('ID of the viewer, as the page names it'),
  viewer_user_agent: text('User agent of the viewer'),
  viewer_application_name: text('Browser or app of the viewer', 'browser'),
  viewer_application_version: text('Version of the browser or app', 'browser_version'),
  viewer_application_engine: text('Engine of the browser or app'),
  viewer_os_family: text('Operating system of the viewer', 'operating_system'),
  viewer_os_version: text('Version of the operating system', 'operating_system_version'),
  viewer_os_architecture: text('Architecture of the operating system'),
  viewer_device_category: text('Kind of device, such as `desktop` or `phone`'),
  viewer_device_manufacturer: text('Manufacturer of the device'),
  viewer_device_model: text('Model of the device'),
  viewer_device_name: text('Name of the device'),
  viewer_connection_type: text('Kind of connection, such as `wifi`'),
  viewer_plan: text('Plan of the viewer, as the page says'),
  viewer_plan_category: text('Category of the plan, as the page says'),
  viewer_plan_status: text('State of the plan, as the page says'),
  client_application_name: text('App that embeds the player'),
  client_application_version: text('Version of the app that embeds the player'),
  platform_summary: text('Browser or app and operating system', ({ dimensions }) =>
    join([dimensions.browser, dimensions.operating_system], ' on '),
  ),
  platform_description: text('The same with their versions', ({ dimensions }) => {
    const { browser, browser_version, operating_system, operating_system_version } = dimensions;
    const app = join([browser, browser_version], ' ') ?? undefined;
    return join([app, join([operating_system, operating_system_version], ' ') ?? undefined], ' on ');
  }),

  country_code: text('Two letters of the country of the viewer', 'country'),
  country_name: text('English name of the country of the viewer', countryName),
  continent_code: text('Two letters of the continent of the viewer'),
  region: text('Region of the viewer; addresses are not looked up'),
  city: text('City of the viewer; addresses are not looked up'),
  metro: text('Metropolitan area of the viewer; addresses are not looked up'),
  latitude: text('Latitude of the viewer; addresses are not looked up'),
  longitude: text('Longitude of the viewer; addresses are not looked up'),
  asn: number('Network of the viewer; addresses are not looked up'),
  asn_name: text('Name of the network of the viewer'),
  isp: text('Internet provider of the viewer; addresses are not looked up'),

  page_type: text('Kind of page, such as `watchpage` or `iframe`'),
  page_url: text('URL of the page'),
  player_name: text('Name of the player, as the page says'),
  player_version: text('Version of the player, as the page says'),
  player_software: text('Player software, such as `mux-player`'),
  player_software_version: text('Version of the player software'),
  player_mux_plugin_name: text('What reports the views'),
  player_mux_plugin_version: text('Version of what reports the views'),
  player_instance_id: text('ID of the player on its page'),
  player_language: text('Language of the player'),
  player_poster: text('URL of the poster'),
  player_width: number('Width of the player in pixels'),
  player_height: number('Height of the player in pixels'),
  player_autoplay: flag('Whether the player began by itself'),
  player_preload: flag('Whether the player loaded in advance'),
  player_remote_played: flagOrNull('Whether another device played it'),
  player_view_count: number('Views of this player before this one'),
  player_source_domain: text('Domain of what was played'),
  player_source_host_name: text('Host of what was played', 'source_hostname'),
  player_source_type: text('Media type of what was played', 'source_type'),
  player_source_stream_type: text('Kind of stream, as the player found it'),
  player_source_url: text('URL of what was played'),
  player_source_duration: number('Duration that the player found, in milliseconds'),
  player_source_width: number('Width of the video in pixels'),
  player_source_height: number('Height of the video in pixels'),
  time_shift_enabled: flag('Whether a broadcast could be sought'),
  used_captions: flag('Whether captions were on'),
  used_fullscreen: flag('Whether the video was in full screen'),
  used_pip: flag('Whether the video was in a floating window'),
  mux_api_version: text('Version of the reports', ({ details }) => details.mux_api_version ?? ''),
  mux_embed: text('Library that sent the reports'),
  mux_embed_version: text('Version of the library that sent the reports'),

  view_has_ad: flag('Whether ads were requested'),
  ad_attempt_count: number('Ads that were tried'),
  ad_break_count: number('Breaks for ads'),
  ad_break_error_count: number('Breaks for ads that failed'),
  ad_break_error_percentage: share('Share of breaks that failed'),
  ad_error_count: number('Ads that failed'),
  ad_error_percentage: share('Share of ads that failed'),
  ad_exit_before_start_count: number('Ads that the viewer left before they began'),
  ad_exit_before_start_percentage: share('Share of ads that the viewer left before they began'),
  ad_impression_count: number('Ads that were displayed'),
  ad_playback_failure_error_type_id: number('ID of the error if an ad ended the view'),
  ad_preroll_startup_time: number('Startup time of the first ad, in milliseconds'),
  ad_startup_error_count: number('Ads that failed before they began'),
  ad_startup_error_percentage: share('Share of ads that failed before they began'),
  preroll_ad_asset_hostname: text('Host of the first ad'),
  preroll_ad_tag_hostname: text('Host of the ad tag'),
  preroll_played: flagOrNull('Whether an ad was played before the video'),
  preroll_requested: flagOrNull('Whether an ad was requested before the video'),
  requests_for_first_preroll: number('Requests until the first ad'),
  video_startup_preroll_load_time: number('Time that the first ad took to load, in ms'),
  video_startup_preroll_request_time: number('Time that the first ad was requested for, in ms'),
};
