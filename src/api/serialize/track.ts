import { type Wire, withoutNulls } from '../wire.js';

export interface TrackRecord {
  readonly id: string;
  readonly asset_id: string;
  readonly type: 'video' | 'audio' | 'text';
  readonly status: string;
  readonly is_primary: boolean;
  readonly name: string | null;
  readonly language_code: string | null;
  readonly duration_seconds: number | null;
  readonly max_width: number | null;
  readonly max_height: number | null;
  readonly max_frame_rate: number | null;
  readonly max_channels: number | null;
  readonly max_channel_layout: string | null;
  readonly text_type: string | null;
  readonly text_source: string | null;
  readonly closed_captions: boolean | null;
  readonly passthrough: string | null;
  readonly language_confidence: number | null;
  /** Progress of speech recognition in percent. */
  readonly progress: number | null;
  readonly error: object | null;
}

/** Sort order: video, primary audio, other audio, text. */
export const trackRank = (track: TrackRecord): number => {
  if (track.type === 'audio') return track.is_primary ? 1 : 2;
  return track.type === 'video' ? 0 : 3;
};

export const serializeTrack = (track: TrackRecord): Wire =>
  withoutNulls({
    id: track.id,
    type: track.type,
    status: track.type === 'video' ? undefined : track.status,
    duration: track.duration_seconds,
    max_width: track.max_width,
    max_height: track.max_height,
    max_frame_rate: track.max_frame_rate,
    max_channels: track.max_channels,
    max_channel_layout: track.max_channel_layout,
    primary: track.is_primary && track.type === 'audio' ? true : undefined,
    text_type: track.text_type,
    text_source: track.text_source,
    name: track.name,
    language_code: track.language_code,
    closed_captions: track.closed_captions,
    passthrough: track.passthrough,
    auto_language_confidence: track.language_confidence,
    progress: track.status === 'preparing' ? track.progress : undefined,
  });

/** A track inside an event; only events include the error. */
export const serializeTrackEvent = (track: TrackRecord): object => ({
  ...serializeTrack(track),
  asset_id: track.asset_id,
  ...(track.error && { error: track.error }),
});
