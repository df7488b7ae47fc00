/**
 * The types that the official SDKs for Go and PHP declare for answers. Both ignore fields that they
 * don't know, and both fail on a known field of another type: Go refuses to decode, PHP iterates
 * over what must be an array and compares what must be one of some values.
 */
type Shape = 'string' | 'integer' | 'number' | 'boolean' | OneOf | readonly [Shape] | Fields;
/** Its name is the type in Go. */
interface Fields {
  readonly [field: string]: Shape;
}
class OneOf {
  readonly values: readonly string[];
  constructor(...values: string[]) {
    this.values = values;
  }
}

const policy = new OneOf('public', 'signed', 'drm');
const tier = new OneOf('1080p', '1440p', '2160p');
const encodingTier = new OneOf('smart', 'baseline', 'premium');
const quality = new OneOf('basic', 'plus', 'premium');
const mp4Support = new OneOf('none', 'standard', 'capped-1080p', 'audio-only', 'audio-only,capped-1080p');
const masterAccess = new OneOf('none', 'temporary');
const meta = { title: 'string', creator_id: 'string', external_id: 'string' } as const;
const made = new OneOf('preparing', 'ready', 'errored');
const playbackId = { id: 'string', policy, drm_configuration_id: 'string' } as const;

const inputSettings = {
  url: 'string',
  overlay_settings: {
    vertical_align: new OneOf('top', 'middle', 'bottom'),
    vertical_margin: 'string',
    horizontal_align: new OneOf('left', 'center', 'right'),
    horizontal_margin: 'string',
    width: 'string',
    height: 'string',
    opacity: 'string',
  },
  generated_subtitles: [{ name: 'string', passthrough: 'string', language_code: 'string' }],
  start_time: 'number',
  end_time: 'number',
  type: new OneOf('video', 'audio', 'text'),
  text_type: new OneOf('subtitles'),
  language_code: 'string',
  name: 'string',
  closed_captions: 'boolean',
  passthrough: 'string',
} as const satisfies Fields;

const newAsset = {
  input: [inputSettings],
  inputs: [inputSettings],
  playback_policy: [policy],
  playback_policies: [policy],
  advanced_playback_policies: [{ policy, drm_configuration_id: 'string' }],
  per_title_encode: 'boolean',
  passthrough: 'string',
  mp4_support: mp4Support,
  normalize_audio: 'boolean',
  master_access: masterAccess,
  test: 'boolean',
  max_resolution_tier: tier,
  encoding_tier: encodingTier,
  video_quality: quality,
  static_renditions: [{ resolution: 'string', passthrough: 'string' }],
  meta,
  copy_overlays: 'boolean',
} as const satisfies Fields;

const track = {
  id: 'string',
  type: new OneOf('video', 'audio', 'text'),
  duration: 'number',
  max_width: 'integer',
  max_height: 'integer',
  max_frame_rate: 'number',
  max_channels: 'integer',
  max_channel_layout: 'string',
  text_type: new OneOf('subtitles'),
  text_source: new OneOf('uploaded', 'embedded', 'generated_live', 'generated_live_final', 'generated_vod'),
  language_code: 'string',
  name: 'string',
  closed_captions: 'boolean',
  passthrough: 'string',
  status: new OneOf('preparing', 'ready', 'errored', 'deleted'),
  primary: 'boolean',
} as const satisfies Fields;

const staticRendition = {
  id: 'string',
  name: 'string',
  ext: new OneOf('mp4', 'm4a'),
  width: 'integer',
  height: 'integer',
  bitrate: 'integer',
  filesize: 'string',
  type: new OneOf('standard', 'advanced'),
  status: new OneOf('ready', 'preparing', 'skipped', 'errored'),
  resolution_tier: 'string',
  resolution: 'string',
  passthrough: 'string',
} as const satisfies Fields;

const asset = {
  id: 'string',
  created_at: 'string',
  status: made,
  duration: 'number',
  max_stored_resolution: new OneOf('Audio only', 'SD', 'HD', 'FHD', 'UHD'),
  resolution_tier: new OneOf('audio-only', '720p', '1080p', '1440p', '2160p'),
  max_resolution_tier: tier,
  encoding_tier: encodingTier,
  video_quality: quality,
  max_stored_frame_rate: 'number',
  aspect_ratio: 'string',
  playback_ids: [playbackId],
  tracks: [track],
  errors: { type: 'string', messages: ['string'] },
  per_title_encode: 'boolean',
  upload_id: 'string',
  is_live: 'boolean',
  passthrough: 'string',
  live_stream_id: 'string',
  master: { status: made, url: 'string' },
  master_access: masterAccess,
  mp4_support: mp4Support,
  source_asset_id: 'string',
  normalize_audio: 'boolean',
  static_renditions: { status: new OneOf('disabled', 'preparing', 'ready', 'errored'), files: [staticRendition] },
  non_standard_input_reasons: { video_codec: 'string', audio_codec: 'string', video_gop_size: 'string' },
  test: 'boolean',
  ingest_type: new OneOf('on_demand_url', 'on_demand_direct_upload', 'on_demand_clip', 'live_rtmp', 'live_srt'),
  meta,
  progress: {
    state: new OneOf('ingesting', 'transcoding', 'completed', 'live', 'errored'),
    progress: 'number',
  },
} as const satisfies Fields;

const upload = {
  id: 'string',
  timeout: 'integer',
  status: new OneOf('waiting', 'asset_created', 'errored', 'cancelled', 'timed_out'),
  new_asset_settings: newAsset,
  asset_id: 'string',
  error: { type: 'string', message: 'string' },
  cors_origin: 'string',
  url: 'string',
  test: 'boolean',
} as const satisfies Fields;

const inputInfo = {
  settings: inputSettings,
  file: {
    container_format: 'string',
    tracks: [
      {
        type: 'string',
        duration: 'number',
        encoding: 'string',
        width: 'integer',
        height: 'integer',
        frame_rate: 'number',
        sample_rate: 'integer',
        sample_size: 'integer',
        channels: 'integer',
      },
    ],
  },
} as const satisfies Fields;

/** What `data` of an answer is declared as, by resource. */
export const sdkShapes = { asset, upload, track, playbackId, staticRendition, inputInfo } as const;
export type SdkResource = keyof typeof sdkShapes;

/** Where `value` is not as declared, each with its path; empty when the SDKs can read it. */
export const sdkProblems = (resource: SdkResource, value: unknown): string[] =>
  problemsAt(resource, sdkShapes[resource], value);

const problemsAt = (path: string, shape: Shape, value: unknown): string[] => {
  // Both read null as absent.
  if (value === null || value === undefined) return [];
  if (typeof shape === 'string') {
    const fits = shape === 'integer' ? Number.isInteger(value) : typeof value === shape;
    return fits ? [] : [`${path} is no ${shape}: ${JSON.stringify(value)}`];
  }
  if (shape instanceof OneOf)
    return shape.values.includes(value as string) ? [] : [`${path} is none of the values: ${JSON.stringify(value)}`];
  if (isList(shape)) {
    if (!Array.isArray(value)) return [`${path} is no array: ${JSON.stringify(value)}`];
    return value.flatMap((item, at) => problemsAt(`${path}[${at}]`, shape[0], item));
  }
  if (typeof value !== 'object' || Array.isArray(value)) return [`${path} is no object: ${JSON.stringify(value)}`];
  return Object.entries(shape).flatMap(([field, inner]) =>
    problemsAt(`${path}.${field}`, inner, (value as Record<string, unknown>)[field]),
  );
};

const isList = (shape: Fields | readonly [Shape]): shape is readonly [Shape] => Array.isArray(shape);
