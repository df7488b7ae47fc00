import { Type } from 'typebox';
import { reconnectSeconds } from '../../domain/live/live-settings.js';
import type { LiveStreamRecord, LiveStreamView, SimulcastTargetRecord } from '../../domain/live/live-stream-view.js';
import type { EmbeddedSubtitles, LiveSubtitles } from '../../domain/requests/live-stream-request.js';
import { passthrough } from '../schemas/common.js';
import { LATENCY, LIVE_SUBTITLE_LANGUAGES } from '../schemas/live-stream.js';
import { id, seconds, unixSeconds } from '../schemas/response.js';
import { unixSeconds as unixText, type Wire, withoutNulls } from '../wire.js';
import { PlaybackIdResponse, serializePlaybackId } from './playback-id.js';

const { Optional, Object: Fields, Enum, Integer, String: Text, Boolean: Flag } = Type;

const SubtitleFields = {
  name: Text({ description: 'Name of the track in the menus of players' }),
  passthrough: Optional(passthrough('. Present when set')),
};

export const SimulcastTargetResponse = Fields(
  {
    id: id('Unique ID of the simulcast target'),
    status: Enum(['idle', 'starting', 'broadcasting', 'errored'], {
      description:
        '`idle` without an encoder, `starting` while the service is connected, `broadcasting` while it receives the stream, `errored` if it refuses it or was lost',
    }),
    url: Text({ description: 'Where the stream is sent' }),
    stream_key: Optional(Text({ description: 'Stream key at the receiving service. Present when set' })),
    passthrough: Optional(passthrough('. Present when set')),
    error_severity: Optional(
      Enum(['normal', 'fatal'], {
        description: '`normal` if more attempts follow, `fatal` if none does. Present when `errored`',
      }),
    ),
  },
  { title: 'SimulcastTarget', description: 'A service that gets a copy of each broadcast of a live stream' },
);

export const LiveStreamResponse = Fields(
  {
    id: id('Unique ID of the live stream'),
    created_at: unixSeconds('When the live stream was created'),
    stream_key: Text({ description: 'Secret by which an encoder identifies itself' }),
    status: Enum(['idle', 'active', 'disabled'], {
      description:
        '`active` during a broadcast, also while its encoder is lost and the `reconnect_window` is not over. A `disabled` live stream accepts no encoder',
    }),
    latency_mode: LATENCY,
    max_continuous_duration: Integer({ description: 'Seconds after which a broadcast ends' }),
    reconnect_window: seconds('How long a broadcast waits for an encoder that is lost'),
    use_slate_for_standard_latency: Flag({
      description: 'Whether a slate fills the time while an encoder is lost, also with `standard` latency',
    }),
    reconnect_slate_url: Optional(Text({ description: 'URL of the image of the slate. Present when set' })),
    srt_passphrase: Text({ description: 'Secret that encrypts what an encoder sends over SRT' }),
    playback_ids: Optional(
      Type.Array(PlaybackIdResponse, { description: 'The playback IDs of the live stream. Absent if there are none' }),
    ),
    new_asset_settings: Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      description:
        'The settings of the asset that each broadcast makes. Policies and inputs are always arrays, and defaults are not filled in',
    }),
    active_asset_id: Optional(id('ID of the asset that is being recorded. Present while there is one')),
    recent_asset_ids: Optional(
      Type.Array(Text(), { description: 'IDs of the latest 10 assets, the newest last. Absent if there are none' }),
    ),
    active_ingest_protocol: Optional(
      Enum(['rtmp', 'srt'], { description: 'How the encoder sends. Present while the live stream is `active`' }),
    ),
    audio_only: Optional(Flag({ description: 'Whether video is dropped. Present only when true' })),
    embedded_subtitles: Optional(
      Type.Array(
        Fields({
          ...SubtitleFields,
          language_code: Text({ description: 'Language of the captions, a BCP 47 code' }),
          language_channel: Enum(['cc1', 'cc2', 'cc3', 'cc4'], {
            description: 'CEA-608 channel that the captions are read from',
          }),
        }),
        { description: 'Captions inside the video that become text tracks. Absent if there are none' },
      ),
    ),
    generated_subtitles: Optional(
      Type.Array(
        Fields({
          ...SubtitleFields,
          language_code: Enum(LIVE_SUBTITLE_LANGUAGES, { description: 'The language that is spoken' }),
          transcription_vocabulary_ids: Optional(
            Type.Array(Text(), { description: 'IDs of transcription vocabularies. Present when set' }),
          ),
        }),
        { description: 'Subtitles that are recognized from speech. Absent if there are none' },
      ),
    ),
    simulcast_targets: Optional(
      Type.Array(SimulcastTargetResponse, {
        description: 'Services that get a copy of each broadcast. Absent if there are none',
      }),
    ),
    passthrough: Optional(passthrough('. Present when set')),
    meta: Optional(
      Fields(
        { title: Optional(Text({ description: 'Title of the live stream' })) },
        { description: 'Facts about the live stream. Present when set' },
      ),
    ),
    test: Optional(Flag({ description: 'Whether this is a test stream. Present only when true' })),
    low_latency: Optional(
      Flag({ deprecated: true, description: 'Deprecated: see `latency_mode`. Present only when true' }),
    ),
    reduced_latency: Optional(
      Flag({ deprecated: true, description: 'Deprecated: see `latency_mode`. Present only when true' }),
    ),
  },
  { title: 'LiveStream', description: 'Where an encoder sends broadcasts. Each broadcast makes an asset' },
);

export const serializeSimulcastTarget = ({
  id,
  status,
  url,
  stream_key,
  passthrough,
  error_severity,
}: SimulcastTargetRecord): Wire => withoutNulls({ id, status, url, stream_key, passthrough, error_severity });

/** A simulcast target inside an event. */
export const serializeSimulcastTargetEvent = (target: SimulcastTargetRecord): Wire => ({
  ...serializeSimulcastTarget(target),
  live_stream_id: target.live_stream_id,
});

/** Undefined for an empty list, which is not written. */
const listOf = <T>(entries: readonly T[] | null): readonly T[] | undefined =>
  entries && entries.length > 0 ? entries : undefined;

export const serializeLiveStream = (stream: LiveStreamView): Wire =>
  withoutNulls({
    id: stream.id,
    created_at: unixText(stream.created_at),
    stream_key: stream.stream_key,
    status: stream.status,
    latency_mode: stream.latency_mode,
    max_continuous_duration: stream.max_continuous_duration,
    reconnect_window: reconnectSeconds(stream),
    use_slate_for_standard_latency: stream.use_slate_for_standard_latency,
    reconnect_slate_url: stream.reconnect_slate_url,
    srt_passphrase: stream.srt_passphrase,
    playback_ids: listOf(stream.playback_ids)?.map(serializePlaybackId),
    new_asset_settings: stream.new_asset_settings ?? {},
    active_asset_id: stream.active_asset_id,
    recent_asset_ids: listOf(stream.recent_asset_ids),
    active_ingest_protocol: stream.status === 'active' ? stream.ingest_protocol : undefined,
    audio_only: stream.audio_only ? true : undefined,
    embedded_subtitles: listOf<EmbeddedSubtitles>(stream.embedded_subtitles),
    generated_subtitles: listOf<LiveSubtitles>(stream.generated_subtitles),
    simulcast_targets: listOf(stream.simulcast_targets)?.map(serializeSimulcastTarget),
    passthrough: stream.passthrough,
    meta: stream.meta,
    test: stream.is_test ? true : undefined,
    low_latency: stream.latency_mode === 'low' ? true : undefined,
    reduced_latency: stream.latency_mode === 'reduced' ? true : undefined,
  });

/** A live stream inside an event: with its connection, and with its creation time as a number. */
export const serializeLiveStreamEvent = (stream: LiveStreamView): Wire => ({
  ...serializeLiveStream(stream),
  created_at: Math.floor(stream.created_at.getTime() / 1000),
  connected: stream.connected,
  recording: stream.recording,
});

export const serializeLiveStreamWarning = (
  { id, status, stream_key, active_asset_id, passthrough }: LiveStreamRecord,
  warning: { readonly type: string; readonly message: string },
): Wire => withoutNulls({ id, status, stream_key, active_asset_id, passthrough, warning });
