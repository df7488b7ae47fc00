import { Type } from 'typebox';
import type { TrackRecord } from '../../domain/asset-view/asset-view.js';
import { passthrough } from '../schemas/common.js';
import { failure, id, pixels, seconds } from '../schemas/response.js';
import { type Wire, withoutNulls } from '../wire.js';

const { Optional, Object: Fields, Enum, Number: Numeric, Integer, String: Text, Boolean: Flag } = Type;

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
      Enum(['uploaded', 'embedded', 'generated_vod', 'generated_live', 'generated_live_final'], {
        description:
          'Where the text came from: a file of yours, the main file, or speech recognition: `generated_live` of a live stream while it is on air, `generated_live_final` after its end. Text tracks only',
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

/** Sort order: video, primary audio, other audio, text. */
export const trackRank = (track: TrackRecord): number => {
  if (track.type === 'audio') return track.is_primary ? 1 : 2;
  return track.type === 'video' ? 0 : 3;
};
