import { Type } from 'typebox';
import type { AssetView } from '../../domain/asset-view/asset-view.js';
import { mp4Supports } from '../../domain/requests/asset-request.js';
import { Meta } from '../schemas/asset.js';
import { passthrough } from '../schemas/common.js';
import { failure, id, resolutionTier, seconds, unixSeconds } from '../schemas/response.js';
import { unixSeconds as unixText, type Wire, withoutNulls } from '../wire.js';
import { PlaybackIdResponse, serializePlaybackId } from './playback-id.js';
import { ShotsResponse, serializeShots } from './shots.js';
import { StaticRenditionResponse, serializeRenditions } from './static-rendition.js';
import { serializeTrack, TrackResponse, trackRank } from './track.js';

const { Optional, Object: Fields, Enum, Number: Numeric, String: Text, Boolean: Flag } = Type;

const TIER = 'The smallest tier that holds the stored video. `audio-only` without video';

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
        state: Enum(['ingesting', 'transcoding', 'completed', 'errored', 'live'], {
          description:
            'The current step. `transcoding` occurs only when the file has to be converted first, `live` while a live stream is recorded',
        }),
        progress: Numeric({
          minimum: -1,
          maximum: 100,
          description: 'How much of the conversion is done, in percent; 100 when completed, -1 when errored or live',
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
    ingest_type: Enum(
      ['on_demand_url', 'on_demand_direct_upload', 'on_demand_clip', 'live_rtmp', 'live_srt', 'live_whip'],
      {
        description: 'Where the main file came from: a URL, a direct upload, another asset or a live stream',
      },
    ),
    test: Optional(Flag({ description: 'Whether this is a test asset. Present only when true' })),
    upload_id: Optional(id('ID of the direct upload that the asset was made from')),
    source_asset_id: Optional(id('ID of the asset that this clip was made from')),
    live_stream_id: Optional(id('ID of the live stream that the asset was recorded from')),
    is_live: Optional(
      Flag({
        description: 'Whether the broadcast goes on. Present on recordings of live streams',
      }),
    ),
    recording_times: Optional(
      Type.Array(
        Fields({
          started_at: Text({ format: 'date-time', description: 'When the recording started, as an ISO 8601 time' }),
          duration: Optional(seconds('How much was recorded. Absent while it grows')),
          type: Enum(['content', 'slate'], {
            description: '`content` of an encoder, or a `slate` that was shown while it was lost',
          }),
        }),
        { description: 'Each connection of an encoder, in order. Present on recordings of live streams' },
      ),
    ),
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
    av1: Optional(
      Enum(['always', 'never'], {
        description: 'Whether playlists list the ladder in AV1. Absent while the server decides',
      }),
    ),
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

export const ENCODING_TIER = { basic: 'baseline', plus: 'smart', premium: 'premium' } as const;

export const serializeAsset = ({ asset, playbackIds, tracks, renditions, master, shots }: AssetView): Wire =>
  withoutNulls({
    id: asset.id,
    status: asset.status,
    created_at: unixText(asset.created_at),
    progress: { state: asset.progress_state, progress: asset.progress },
    playback_ids: playbackIds.length > 0 ? playbackIds.map(serializePlaybackId) : undefined,
    master_access: asset.master_access,
    master,
    mp4_support: asset.mp4_support,
    static_renditions: serializeRenditions(asset, renditions),
    normalize_audio: asset.normalize_audio,
    encoding_tier: ENCODING_TIER[asset.video_quality],
    video_quality: asset.video_quality,
    max_resolution_tier: asset.max_resolution_tier,
    ingest_type: asset.ingest_type,
    test: asset.is_test ? true : undefined,
    upload_id: asset.upload_id,
    source_asset_id: asset.source_asset_id,
    live_stream_id: asset.live_stream_id,
    is_live: asset.live_stream_id === null ? undefined : asset.is_live,
    recording_times: asset.recording_times,
    passthrough: asset.passthrough,
    meta: asset.meta,
    non_standard_input_reasons: asset.non_standard_input_reasons,
    thumbnail_time: asset.thumbnail_time,
    directives: asset.directives?.map((id) => ({ id })),
    generate_shots: asset.generate_shots ? true : undefined,
    shots: shots && serializeShots(shots),
    av1: asset.av1 === 'auto' ? undefined : asset.av1,
    ...(asset.status === 'errored' && { errors: asset.error }),
    ...(asset.status === 'ready' && {
      duration: asset.duration_seconds,
      aspect_ratio: asset.aspect_ratio,
      resolution_tier: asset.resolution_tier,
      max_stored_resolution: asset.max_stored_resolution,
      max_stored_frame_rate: asset.max_stored_frame_rate,
      tracks: [...tracks].sort((a, b) => trackRank(a) - trackRank(b)).map(serializeTrack),
    }),
  });

const texts = new WeakMap<AssetView['asset'], string>();

/**
 * The asset as a text of JSON. An asset that has not changed is often the same object when it is
 * read again; then its text is used again, unless it contains a signed URL, which expires.
 */
export const assetJson = (view: AssetView): string => {
  const isLasting = view.master?.url === undefined && view.shots?.manifestUrl === undefined;
  const text = (isLasting ? texts.get(view.asset) : undefined) ?? JSON.stringify(serializeAsset(view));
  if (isLasting) texts.set(view.asset, text);
  return text;
};

/**
 * An asset inside an event: as in the API, but with its creation time as a number, and the times of
 * recordings in two parts (types of the official SDK).
 */
export const serializeAssetEvent = (view: AssetView): object => ({
  ...serializeAsset(view),
  created_at: Math.floor(view.asset.created_at.getTime() / 1000),
  ...(view.asset.recording_times && {
    recording_times: view.asset.recording_times.map((time) => ({ ...time, started_at: inTwoParts(time.started_at) })),
  }),
});

const inTwoParts = (isoTime: string): { readonly seconds: number; readonly nanos: number } => {
  const ms = Date.parse(isoTime);
  return { seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1_000_000 };
};

export const serializeAssetWarning = (
  { id, status, passthrough, meta, upload_id, source_asset_id, live_stream_id }: AssetView['asset'],
  warning: { readonly type: string; readonly message: string },
): object => withoutNulls({ id, status, passthrough, meta, upload_id, source_asset_id, live_stream_id, warning });
