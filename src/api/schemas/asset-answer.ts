import { Type } from 'typebox';
import { id, unixSeconds } from './answer.js';
import { Meta, mp4Supports, resolutions } from './asset.js';

const { Optional, Object: Fields, Enum, Number: Numeric, Integer, String: Text, Boolean: Flag } = Type;

const resolutionTier = () => Enum(['audio-only', '720p', '1080p', '1440p', '2160p']);
const Failure = Fields({ type: Text(), messages: Type.Array(Text()) });
const seconds = () => Numeric({ description: 'Seconds' });

export const PlaybackIdAnswer = Fields(
  { id: id(), policy: Enum(['public', 'signed', 'drm']), drm_configuration_id: Optional(Text()) },
  { title: 'PlaybackId' },
);

export const PlaybackIdOwnerAnswer = Fields(
  {
    ...PlaybackIdAnswer.properties,
    object: Fields({ type: Enum(['asset']), id: id() }, { description: 'The owner of the playback ID' }),
  },
  { title: 'PlaybackIdOwner' },
);

export const TrackAnswer = Fields(
  {
    id: id(),
    type: Enum(['video', 'audio', 'text']),
    status: Optional(Enum(['preparing', 'ready', 'errored', 'deleted'], { description: 'Audio and text tracks only' })),
    duration: Optional(seconds()),
    max_width: Optional(Integer()),
    max_height: Optional(Integer()),
    max_frame_rate: Optional(Numeric()),
    max_channels: Optional(Integer()),
    max_channel_layout: Optional(Text()),
    primary: Optional(Flag({ description: 'The audio track that plays by default' })),
    name: Optional(Text()),
    language_code: Optional(Text({ description: 'BCP 47' })),
    text_type: Optional(Enum(['subtitles'])),
    text_source: Optional(Enum(['uploaded', 'embedded', 'generated_vod'])),
    closed_captions: Optional(Flag()),
    passthrough: Optional(Text()),
    auto_language_confidence: Optional(Numeric({ minimum: 0, maximum: 1 })),
    progress: Optional(Numeric({ minimum: 0, maximum: 100, description: 'Percentage, while speech is recognized' })),
    error: Optional(Failure),
  },
  { title: 'Track' },
);

export const StaticRenditionAnswer = Fields(
  {
    id: Optional(id('Absent for files of `mp4_support`')),
    name: Text(),
    ext: Enum(['mp4', 'm4a']),
    type: Optional(Enum(['standard', 'advanced'])),
    status: Optional(Enum(['preparing', 'ready', 'skipped', 'errored'])),
    resolution: Optional(Enum(resolutions)),
    resolution_tier: Optional(resolutionTier()),
    width: Optional(Integer()),
    height: Optional(Integer()),
    bitrate: Optional(Integer({ description: 'bit/s' })),
    filesize: Optional(Text({ pattern: '^\\d+$', description: 'Bytes, as a string' })),
    passthrough: Optional(Text()),
  },
  { title: 'StaticRendition' },
);

export const ShotsAnswer = Fields(
  {
    status: Enum(['pending', 'completed', 'errored', 'skipped', 'deleted']),
    created_at: Optional(unixSeconds()),
    shots_manifest_url: Optional(Text({ format: 'uri', description: 'Signed; renewed in each response' })),
    errors: Optional(Failure),
  },
  { title: 'Shots' },
);

export const AssetAnswer = Fields(
  {
    id: id(),
    status: Enum(['preparing', 'ready', 'errored']),
    created_at: unixSeconds(),
    progress: Fields({
      state: Enum(['ingesting', 'transcoding', 'completed', 'errored']),
      progress: Numeric({ minimum: -1, maximum: 100, description: 'Percentage; -1 if errored' }),
    }),
    playback_ids: Optional(Type.Array(PlaybackIdAnswer)),
    master_access: Enum(['none', 'temporary']),
    master: Optional(Fields({ status: Enum(['preparing', 'ready', 'errored']), url: Optional(Text()) })),
    mp4_support: Enum(mp4Supports, { deprecated: true }),
    static_renditions: Optional(
      Fields({
        status: Optional(Enum(['preparing', 'ready', 'errored'], { description: 'Only with `mp4_support`' })),
        files: Optional(Type.Array(StaticRenditionAnswer)),
      }),
    ),
    normalize_audio: Flag(),
    encoding_tier: Enum(['baseline', 'smart', 'premium'], { deprecated: true }),
    video_quality: Enum(['basic', 'plus', 'premium']),
    max_resolution_tier: Enum(['1080p', '1440p', '2160p']),
    ingest_type: Enum(['on_demand_url', 'on_demand_direct_upload', 'on_demand_clip']),
    test: Optional(Flag({ description: 'Only when true' })),
    upload_id: Optional(id()),
    source_asset_id: Optional(id('Of the asset that a clip was made from')),
    passthrough: Optional(Text()),
    meta: Optional(Meta),
    directives: Optional(Type.Array(Fields({ id: id() }))),
    generate_shots: Optional(Flag()),
    shots: Optional(ShotsAnswer),
    thumbnail_time: Optional(seconds()),
    non_standard_input_reasons: Optional(
      Type.Record(Text(), Text(), {
        description: 'Properties of the input that had to be converted, with their values',
      }),
    ),
    errors: Optional(Failure),
    duration: Optional(seconds()),
    aspect_ratio: Optional(Text({ description: '`16:9`' })),
    resolution_tier: Optional(resolutionTier()),
    max_stored_resolution: Optional(Enum(['Audio only', 'SD', 'HD', 'FHD', 'UHD'], { deprecated: true })),
    max_stored_frame_rate: Optional(Numeric()),
    tracks: Optional(Type.Array(TrackAnswer, { description: 'Once the asset is `ready`' })),
  },
  { title: 'Asset' },
);

const InputTrack = Fields({
  type: Enum(['video', 'audio', 'text', 'image']),
  duration: Optional(seconds()),
  encoding: Optional(Text()),
  width: Optional(Integer()),
  height: Optional(Integer()),
  frame_rate: Optional(Numeric()),
  channels: Optional(Integer()),
  sample_rate: Optional(Integer()),
  sample_size: Optional(Integer({ description: 'Bits' })),
});

export const InputInfoAnswer = Fields(
  {
    settings: Type.Unsafe({ type: 'object', description: 'The accepted input, without credentials in its URL' }),
    file: Optional(
      Fields(
        { container_format: Text(), tracks: Type.Array(InputTrack) },
        { description: 'Present after the file is probed' },
      ),
    ),
    early_playback: Optional(
      Fields(
        { status: Enum(['played', 'ended', 'stored_first']), reason: Optional(Text()) },
        {
          description:
            'Only in Kinora, for the main input: whether the asset could be played before its file was stored; `ended` if that stopped before, `stored_first` if it never could. `reason` says why',
        },
      ),
    ),
  },
  { title: 'InputInfo' },
);
