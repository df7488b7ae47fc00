import { Type } from 'typebox';
import { Meta, mp4Supports, renditionResolution } from './asset.js';
import { passthrough } from './common.js';
import { id, unixSeconds } from './response.js';

const { Optional, Object: Fields, Enum, Number: Numeric, Integer, String: Text, Boolean: Flag } = Type;

const TIER = 'The smallest tier that holds the stored video. `audio-only` without video';
const resolutionTier = (description: string) =>
  Enum(['audio-only', '720p', '1080p', '1440p', '2160p'], { description });
const failure = (description: string) =>
  Fields(
    {
      type: Text({ description: '`invalid_input` if the file is the cause, `internal_error` if the server is' }),
      messages: Type.Array(Text(), { description: 'What went wrong, one sentence per problem' }),
    },
    { description },
  );
const seconds = (description: string) => Numeric({ description: `${description}, in seconds` });
const pixels = (description: string) => Integer({ description: `${description}, in pixels` });

export const PlaybackIdResponse = Fields(
  {
    id: id('The playback ID, which is part of playback URLs'),
    policy: Enum(['public', 'signed', 'drm'], {
      description:
        'Who can play with this ID: everyone, holders of a signed token, or players with a token and a license',
    }),
    drm_configuration_id: Optional(id('ID of the DRM configuration. Present when the policy is `drm`')),
  },
  { title: 'PlaybackId', description: 'A public identifier of an asset. Its policy decides who can play' },
);

export const PlaybackIdOwnerResponse = Fields(
  {
    ...PlaybackIdResponse.properties,
    object: Fields(
      {
        type: Enum(['asset'], { description: 'Kind of the owner. Always `asset`' }),
        id: id('ID of the asset that the playback ID plays'),
      },
      { description: 'The resource that the playback ID belongs to' },
    ),
  },
  { title: 'PlaybackIdOwner', description: 'A playback ID together with the asset that it plays' },
);

export const TrackResponse = Fields(
  {
    id: id('Unique ID of the track'),
    type: Enum(['video', 'audio', 'text'], { description: 'The kind of track' }),
    status: Optional(
      Enum(['preparing', 'ready', 'errored', 'deleted'], {
        description: 'Whether the track can be played. Audio and text tracks only; `deleted` occurs only in webhooks',
      }),
    ),
    duration: Optional(seconds('Length of the track. Video and audio tracks only')),
    max_width: Optional(pixels('Width of the stored video. Video tracks only')),
    max_height: Optional(pixels('Height of the stored video. Video tracks only')),
    max_frame_rate: Optional(
      Numeric({ description: 'Frames per second of the stored video, or -1 if unknown. Video tracks only' }),
    ),
    max_channels: Optional(Integer({ description: 'Number of audio channels. Audio tracks only' })),
    max_channel_layout: Optional(
      Text({ description: 'Layout of the audio channels, such as `mono`, `stereo` or `5.1`. Audio tracks only' }),
    ),
    primary: Optional(
      Flag({ description: 'Whether this audio track plays by default. Present only on that track, as `true`' }),
    ),
    name: Optional(Text({ description: 'Name of the track in the menus of players. Audio and text tracks only' })),
    language_code: Optional(
      Text({
        description:
          'Language as a BCP 47 code; `und` if unknown, `auto` until it is detected. Audio and text tracks only',
      }),
    ),
    text_type: Optional(Enum(['subtitles'], { description: 'The kind of text track. Text tracks only' })),
    text_source: Optional(
      Enum(['uploaded', 'embedded', 'generated_vod'], {
        description:
          'Where the text came from: a file of yours, the main file, or speech recognition. Text tracks only',
      }),
    ),
    closed_captions: Optional(
      Flag({
        description: 'Whether the text also describes noises and music, for viewers who cannot hear. Text tracks only',
      }),
    ),
    passthrough: Optional(passthrough('. Present when set. Text tracks only')),
    auto_language_confidence: Optional(
      Numeric({
        minimum: 0,
        maximum: 1,
        description: 'Confidence in the detected language, from 0 to 1. Present after the language was detected',
      }),
    ),
    progress: Optional(
      Numeric({
        minimum: 0,
        maximum: 100,
        description: 'How much of the speech is recognized, in percent. Present while subtitles are generated',
      }),
    ),
    error: Optional(failure('Why the track could not be made. Only in events about a track that is `errored`')),
  },
  { title: 'Track', description: 'The video, an audio track or a text track of an asset' },
);

export const StaticRenditionResponse = Fields(
  {
    id: Optional(id('Unique ID of the rendition. Absent for files of `mp4_support`')),
    name: Text({ description: 'File name, such as `720p.mp4`: the last part of the URL after the playback ID' }),
    ext: Enum(['mp4', 'm4a'], { description: 'File name extension: `mp4` with video, `m4a` for audio alone' }),
    type: Optional(
      Enum(['standard', 'advanced'], {
        description:
          '`standard` for `highest` and `audio-only`, `advanced` for other resolutions. Absent for files of `mp4_support`',
      }),
    ),
    status: Optional(
      Enum(['preparing', 'ready', 'skipped', 'errored'], {
        description:
          'Whether the file can be downloaded. `skipped` if it would enlarge the video or has nothing to hold. Absent for files of `mp4_support`',
      }),
    ),
    resolution: Optional(renditionResolution()),
    resolution_tier: Optional(resolutionTier('The tier of the file. Present when it is `ready`')),
    width: Optional(pixels('Width of the video. Present when the file is ready and has video')),
    height: Optional(pixels('Height of the video. Present when the file is ready and has video')),
    bitrate: Optional(Integer({ description: 'Average bitrate in bit/s. Present when the file is ready' })),
    filesize: Optional(
      Text({ pattern: '^\\d+$', description: 'Size in bytes, as a string. Present when the file is ready' }),
    ),
    passthrough: Optional(passthrough('. Present when set')),
  },
  { title: 'StaticRendition', description: 'One file of the whole asset, for download or for players without HLS' },
);

export const ShotsResponse = Fields(
  {
    status: Enum(['pending', 'completed', 'errored', 'skipped', 'deleted'], {
      description: 'State of the shot detection. `skipped` if the asset has no video',
    }),
    created_at: Optional(unixSeconds('When the shots were requested')),
    shots_manifest_url: Optional(
      Text({
        format: 'uri',
        description:
          'URL of a JSON file that lists the shots. Signed, valid for 24 hours, and renewed in each response. Present when `completed`',
      }),
    ),
    errors: Optional(failure('Why the detection failed. Present when it is `errored`')),
  },
  { title: 'Shots', description: 'The shots of an asset, each with its start and a contact sheet' },
);

const statusOfFile = (description: string) => Enum(['preparing', 'ready', 'errored'], { description });

export const AssetResponse = Fields(
  {
    id: id('Unique ID of the asset'),
    status: Enum(['preparing', 'ready', 'errored'], {
      description: '`preparing` until the asset can be played, then `ready`, or `errored` if its file cannot be used',
    }),
    created_at: unixSeconds('When the asset was created'),
    progress: Fields(
      {
        state: Enum(['ingesting', 'transcoding', 'completed', 'errored'], {
          description: 'The current step. `transcoding` occurs only when the file has to be converted first',
        }),
        progress: Numeric({
          minimum: -1,
          maximum: 100,
          description: 'How much of the conversion is done, in percent; 100 when completed, -1 when errored',
        }),
      },
      { description: 'How far the processing of the asset is' },
    ),
    playback_ids: Optional(
      Type.Array(PlaybackIdResponse, { description: 'The playback IDs of the asset. Absent if there are none' }),
    ),
    master_access: Enum(['none', 'temporary'], {
      description: 'Whether a master file was requested and has not expired',
    }),
    master: Optional(
      Fields(
        {
          status: statusOfFile('Whether the file can be downloaded'),
          url: Optional(
            Text({ description: 'Signed URL of the file, valid for 24 hours after it is ready. Present when ready' }),
          ),
        },
        {
          description: 'The whole asset in the best quality, as one file. Present while `master_access` is `temporary`',
        },
      ),
    ),
    mp4_support: Enum(mp4Supports, {
      deprecated: true,
      description: 'Deprecated: see `static_renditions`. The set of files that was requested; `none` if there is none',
    }),
    static_renditions: Optional(
      Fields(
        {
          status: Optional(statusOfFile('State of all files together. Present only with `mp4_support`')),
          files: Optional(Type.Array(StaticRenditionResponse, { description: 'The files, each with its own state' })),
        },
        { description: 'Files for download. Present once a file was requested' },
      ),
    ),
    normalize_audio: Flag({ description: 'Whether the audio is brought to a loudness of -24 LUFS' }),
    encoding_tier: Enum(['baseline', 'smart', 'premium'], {
      deprecated: true,
      description: 'Deprecated: see `video_quality`, from which it follows',
    }),
    video_quality: Enum(['basic', 'plus', 'premium'], {
      description: 'How much quality and processing is spent on the video',
    }),
    max_resolution_tier: Enum(['1080p', '1440p', '2160p'], {
      description: 'The largest resolution to store and stream',
    }),
    ingest_type: Enum(['on_demand_url', 'on_demand_direct_upload', 'on_demand_clip'], {
      description: 'Where the main file came from: a URL, a direct upload or another asset',
    }),
    test: Optional(Flag({ description: 'Whether this is a test asset. Present only when true' })),
    upload_id: Optional(id('ID of the direct upload that the asset was made from')),
    source_asset_id: Optional(id('ID of the asset that this clip was made from')),
    passthrough: Optional(passthrough('. Present when set')),
    meta: Optional(Meta),
    directives: Optional(
      Type.Array(Fields({ id: id('ID of the directive') }), {
        description: 'The directives that were requested with the asset. Present if there are any',
      }),
    ),
    generate_shots: Optional(
      Flag({ description: 'Whether shots were requested with the asset. Present only when true' }),
    ),
    shots: Optional(ShotsResponse),
    thumbnail_time: Optional(seconds('Time of the default thumbnail. Present when set')),
    non_standard_input_reasons: Optional(
      Type.Record(Text(), Text(), {
        description:
          'Properties of the main file that had to be converted, such as `video_codec`, with their values. Absent for standard files',
      }),
    ),
    errors: Optional(failure('Why the asset cannot be used. Present when it is `errored`')),
    duration: Optional(seconds('Length of the asset, at most 12 hours. Present once it is `ready`')),
    aspect_ratio: Optional(
      Text({
        description: 'Width and height of the video as a ratio, such as `16:9`. Present once `ready`, with video',
      }),
    ),
    resolution_tier: Optional(resolutionTier(`${TIER}. Present once the asset is \`ready\``)),
    max_stored_resolution: Optional(
      Enum(['Audio only', 'SD', 'HD', 'FHD', 'UHD'], {
        deprecated: true,
        description: 'Deprecated: see `resolution_tier`. The size of the stored video in words',
      }),
    ),
    max_stored_frame_rate: Optional(
      Numeric({
        description: 'Frames per second of the stored video, or -1 if unknown. Present once `ready`, with video',
      }),
    ),
    tracks: Optional(
      Type.Array(TrackResponse, {
        description: 'The video track, the audio tracks, then the text tracks. Present once the asset is `ready`',
      }),
    ),
  },
  { title: 'Asset', description: 'A video or audio file that viewers can play' },
);

const InputTrack = Fields({
  type: Enum(['video', 'audio', 'text', 'image'], { description: 'What the track of the file holds' }),
  duration: Optional(seconds('Length of the track. Absent if the file does not say')),
  encoding: Optional(Text({ description: 'Name of the codec, such as `h264` or `aac`' })),
  width: Optional(pixels('Width of the video or image')),
  height: Optional(pixels('Height of the video or image')),
  frame_rate: Optional(Numeric({ description: 'Frames per second. Video tracks only' })),
  channels: Optional(Integer({ description: 'Number of audio channels. Audio tracks only' })),
  sample_rate: Optional(Integer({ description: 'Audio samples per second, in Hz. Audio tracks only' })),
  sample_size: Optional(Integer({ description: 'Bits per audio sample. Absent if the codec has none' })),
  language_code: Optional(
    Text({ description: 'Only in Kinora: the language that the file declares. Audio and text tracks only' }),
  ),
  name: Optional(
    Text({ description: 'Only in Kinora: the title of the track in the file. Audio and text tracks only' }),
  ),
});

export const InputInfoResponse = Fields(
  {
    settings: Type.Unsafe({
      type: 'object',
      description:
        'The input as it was accepted, without credentials in its URL. The file of a direct upload has no URL',
    }),
    file: Optional(
      Fields(
        {
          container_format: Text({ description: 'Name of the file format, such as `mov,mp4,m4a,3gp,3g2,mj2`' }),
          tracks: Type.Array(InputTrack, { description: 'The tracks that the file holds, in the order of the file' }),
        },
        { description: 'What the file holds. Present after it is probed' },
      ),
    ),
    early_playback: Optional(
      Fields(
        {
          status: Enum(['played', 'ended', 'stored_first'], {
            description:
              '`played` if it could be played early, `ended` if that stopped before, `stored_first` if it never could',
          }),
          reason: Optional(Text({ description: 'Why early playback stopped or was not possible' })),
        },
        {
          description:
            'Only in Kinora, for the main input: whether the asset could be played before its file was stored',
        },
      ),
    ),
    copy_decision: Optional(
      Text({
        description:
          'Only in Kinora, for the main input with video: whether the rendition with the highest resolution is the video of the file itself (`copied`) or was encoded, and why',
      }),
    ),
  },
  { title: 'InputInfo', description: 'An input of an asset, and what its file holds' },
);
