import type { Row } from '../../db/schema.js';
import type { RecordedCaptions } from '../tracks/caption-tracks.js';

/** The reconnect window of a live stream that has none of its own, in seconds. */
const DEFAULT_RECONNECT_SECONDS = { standard: 60, reduced: 0, low: 0 } as const;
/**
 * hls.js 1.7 forgets the loaded parts of a segment with the number 0, and loads the same part again
 * and again.
 */
const FIRST_SEQUENCE = 1;
/** A test stream may send for five minutes. */
const MAX_TEST_SECONDS = 300;

/** How long a broadcast waits for its encoder. */
export const reconnectSeconds = ({
  reconnect_window: own,
  latency_mode: mode,
}: Pick<Row<'live_stream'>, 'reconnect_window' | 'latency_mode'>): number => own ?? DEFAULT_RECONNECT_SECONDS[mode];

/** What whoever receives an encoder needs to know of its live stream. */
export interface LiveSettings {
  readonly liveStreamId: string;
  readonly environmentId: string;
  /** See `hashSecret`. */
  readonly keyHash: string;
  readonly status: Row<'live_stream'>['status'];
  /** The server that has its broadcast or its encoder, among several. */
  readonly ownerId?: string;
  readonly latencyMode: Row<'live_stream'>['latency_mode'];
  readonly reconnectSeconds: number;
  /** A slate fills the time while the encoder is away; otherwise before and after are joined. */
  readonly usesSlate: boolean;
  /** The image of the slate; the default one when absent. */
  readonly slateUrl?: string;
  readonly maxDurationSeconds: number;
  /** Video that the encoder sends is dropped. */
  readonly audioOnly: boolean;
  readonly captions: readonly RecordedCaptions[];
  /** Subtitles that are recognized while live. */
  readonly subtitles?: { readonly name: string; readonly languageCode: string };
  readonly isTest: boolean;
  readonly srtPassphrase: string;
  /** Media sequence number of the first segment of the next broadcast. */
  readonly nextSequence: number;
  /** Discontinuities of all broadcasts so far. */
  readonly nextDiscontinuity: number;
}

/** What the owner says about captions inside the video. */
export const captionsOf = ({
  audio_only: audioOnly,
  embedded_subtitles: entries,
}: Pick<Row<'live_stream'>, 'audio_only' | 'embedded_subtitles'>): RecordedCaptions[] =>
  (audioOnly ? [] : (entries ?? [])).map(
    ({ name = 'Captions', language_code: languageCode = 'und', language_channel: channel = 'cc1', passthrough }) => ({
      ...{ name, languageCode, channel, passthrough },
    }),
  );

/** Media sequence number of the first segment of the next broadcast. */
export const nextSequenceOf = ({ next_sequence: next }: Pick<Row<'live_stream'>, 'next_sequence'>): number =>
  Math.max(FIRST_SEQUENCE, next);

/** See `LiveSettings.ownerId`. */
export const ownerOf = ({
  node_id: nodeId,
  active_asset_id: assetId,
  connected,
}: Pick<Row<'live_stream'>, 'node_id' | 'active_asset_id' | 'connected'>): string | undefined =>
  assetId !== null || connected ? (nodeId ?? undefined) : undefined;

export const liveSettingsOf = (row: Row<'live_stream'>): LiveSettings => {
  const window = reconnectSeconds(row);
  const generated = row.generated_subtitles?.[0];
  return {
    liveStreamId: row.id,
    environmentId: row.environment_id,
    keyHash: row.stream_key_hash,
    status: row.status,
    ownerId: ownerOf(row),
    latencyMode: row.latency_mode,
    reconnectSeconds: window,
    usesSlate: window > 0 && (row.latency_mode !== 'standard' || row.use_slate_for_standard_latency),
    ...(row.reconnect_slate_url !== null && { slateUrl: row.reconnect_slate_url }),
    maxDurationSeconds: row.is_test
      ? Math.min(row.max_continuous_duration, MAX_TEST_SECONDS)
      : row.max_continuous_duration,
    audioOnly: row.audio_only,
    captions: captionsOf(row),
    ...(generated && {
      subtitles: { name: generated.name ?? 'Subtitles', languageCode: generated.language_code ?? 'en' },
    }),
    isTest: row.is_test,
    srtPassphrase: row.srt_passphrase,
    nextSequence: nextSequenceOf(row),
    nextDiscontinuity: row.next_discontinuity,
  };
};
