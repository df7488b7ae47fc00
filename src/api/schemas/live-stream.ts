import { type Static, Type } from 'typebox';
import { Meta as AssetMeta, CreateAssetBody, StaticRendition } from './asset.js';
import { MAX_ENTRIES, passthrough } from './common.js';
import { languageCode } from './input.js';
import { NewPlaybackId } from './playback-id.js';

const { Optional, Object: Fields, Enum, Integer, Number: Numeric, String: Text, Boolean: Flag } = Type;

const MAX_SIMULCAST_TARGETS = 6;

export const LATENCY = Enum(['standard', 'reduced', 'low'], {
  description:
    'How far viewers are behind the encoder: `low` about 2 seconds, `reduced` about 8, `standard` about 15. Lower latency means more requests per viewer. Applies to the next broadcast',
});

const RECONNECT_WINDOW = Numeric({
  minimum: 0,
  maximum: 1800,
  description:
    'Seconds to wait for an encoder that is lost, from 0 to 1,800, before the broadcast ends and its asset is completed. Defaults to 60 with `standard` latency and to 0 otherwise',
});

const MAX_DURATION = Integer({
  minimum: 60,
  maximum: 43_200,
  description: 'Seconds after which a broadcast ends, from 60 to 43,200 (12 hours), the default',
});

const USE_SLATE = Flag({
  description:
    'Whether a slate fills the time while an encoder is lost, also with `standard` latency. It always does with other latencies and a `reconnect_window`. Defaults to false',
});

const slateUrl = (more: string) =>
  Text({
    format: 'image-url',
    description: `HTTP(S) URL of an image to show as slate. It is downloaded for each broadcast${more}`,
  });

const meta = (more: string) =>
  Fields(
    {
      title: Optional(Text({ maxLength: 512, description: `Title of the live stream, at most 512 characters${more}` })),
    },
    { description: 'Facts about the live stream for people and players. Viewers may see them' },
  );

export const EmbeddedSubtitlesEntry = Fields({
  name: Optional(Text({ description: 'Name of the track in the menus of players. Defaults to that of the language' })),
  passthrough: Optional(passthrough(' with the track')),
  language_code: Optional(languageCode('Language of the captions. Defaults to `en`')),
  language_channel: Optional(
    Enum(['cc1', 'cc2', 'cc3', 'cc4'], { description: 'CEA-608 channel to read. Defaults to `cc1`' }),
  ),
});

export const LIVE_SUBTITLE_LANGUAGES = ['en', 'en-US', 'es', 'fr', 'de', 'pt', 'it'] as const;

export const GeneratedSubtitlesEntry = Fields({
  name: Optional(Text({ description: 'Name of the track in the menus of players. Defaults to that of the language' })),
  passthrough: Optional(passthrough(' with the track')),
  language_code: Optional(
    Enum(LIVE_SUBTITLE_LANGUAGES, { description: 'The language that is spoken. Defaults to `en`' }),
  ),
  transcription_vocabulary_ids: Optional(
    Type.Array(Text(), {
      maxItems: MAX_ENTRIES,
      description: 'IDs of transcription vocabularies with words that are likely to be spoken',
    }),
  ),
});

const embeddedSubtitles = Type.Array(EmbeddedSubtitlesEntry, {
  maxItems: 4,
  description: 'Captions inside the video that the encoder sends (CEA-608), one entry per channel',
});
const generatedSubtitles = Type.Array(GeneratedSubtitlesEntry, {
  maxItems: 1,
  description: 'Subtitles to recognize from speech, at most one entry',
});

/** Body of POST …/simulcast-targets, and one entry of `simulcast_targets`. */
export const NewSimulcastTarget = Fields({
  url: Text({
    format: 'simulcast-url',
    description:
      'Where to send the stream: an RTMP or RTMPS URL with the name of the application. A complete SRT URL is accepted too, but nothing is sent to it yet',
  }),
  stream_key: Optional(Text({ description: 'Stream key at the receiving service. Only for RTMP and RTMPS' })),
  passthrough: Optional(passthrough(' with the simulcast target')),
});

const LIVE_QUALITY = Enum(['plus', 'premium'], {
  description:
    'How much quality and processing to spend on the video. Live streams have no `basic`. Defaults to `plus`',
});

export const LIVE_ASSET_SETTINGS =
  'The asset that each broadcast makes. Takes the same fields as "Create an asset". Without a playback policy, the asset cannot be played';

/** Settings of the asset that each broadcast makes. */
export const LiveAssetSettings = Fields(
  {
    ...CreateAssetBody.properties,
    video_quality: Optional(LIVE_QUALITY),
    encoding_tier: Optional(
      Enum(['smart', 'premium'], {
        deprecated: true,
        description: 'Deprecated: use `video_quality`. `smart` is `plus`, `premium` is `premium`',
      }),
    ),
  },
  {
    description: LIVE_ASSET_SETTINGS,
  },
);

const { playback_policies, playback_policy } = CreateAssetBody.properties;

/** Body of POST /video/v1/live-streams. */
export const CreateLiveStreamBody = Fields({
  playback_policies,
  playback_policy,
  advanced_playback_policies: Optional(
    Type.Array(NewPlaybackId, {
      maxItems: MAX_ENTRIES,
      description:
        'Creates one playback ID per entry, after those of `playback_policies`. Required for the policy `drm`, which takes a configuration',
    }),
  ),
  new_asset_settings: Optional(LiveAssetSettings),
  latency_mode: Optional(LATENCY),
  reconnect_window: Optional(RECONNECT_WINDOW),
  use_slate_for_standard_latency: Optional(USE_SLATE),
  reconnect_slate_url: Optional(slateUrl('')),
  max_continuous_duration: Optional(MAX_DURATION),
  audio_only: Optional(Flag({ description: 'Whether the video of the encoder is dropped. Defaults to false' })),
  embedded_subtitles: Optional(embeddedSubtitles),
  generated_subtitles: Optional(generatedSubtitles),
  simulcast_targets: Optional(
    Type.Array(NewSimulcastTarget, {
      maxItems: MAX_SIMULCAST_TARGETS,
      description: 'Services that get a copy of each broadcast, at most 6',
    }),
  ),
  passthrough: Optional(passthrough(' with the live stream and in its webhooks')),
  meta: Optional(meta('')),
  test: Optional(
    Flag({
      description:
        'Whether to make a test stream: broadcasts end after 5 minutes and get a watermark, and their assets are deleted after 24 hours. Defaults to false',
    }),
  ),
  low_latency: Optional(Flag({ deprecated: true, description: 'Deprecated: use `latency_mode`, which wins' })),
  reduced_latency: Optional(Flag({ deprecated: true, description: 'Deprecated: use `latency_mode`, which wins' })),
});
export type CreateLiveStreamBody = Static<typeof CreateLiveStreamBody>;

/** Body of PATCH /video/v1/live-streams/{id}; an empty string removes the value. */
export const UpdateLiveStreamBody = Fields({
  latency_mode: Optional(LATENCY),
  reconnect_window: Optional(RECONNECT_WINDOW),
  use_slate_for_standard_latency: Optional(USE_SLATE),
  reconnect_slate_url: Optional(slateUrl('. An empty string removes it')),
  max_continuous_duration: Optional(MAX_DURATION),
  passthrough: Optional(passthrough(' with the live stream and in its webhooks. An empty string removes it')),
  meta: Optional(meta('. An empty string removes it')),
  new_asset_settings: Optional(
    Fields(
      {
        mp4_support: CreateAssetBody.properties.mp4_support,
        master_access: CreateAssetBody.properties.master_access,
        video_quality: Optional(LIVE_QUALITY),
        meta: Optional(AssetMeta),
      },
      { description: 'Settings of later assets. Fields that you omit keep their values' },
    ),
  ),
});

/** Body of PUT …/embedded-subtitles. */
export const UpdateEmbeddedSubtitlesBody = Fields({ embedded_subtitles: Optional(embeddedSubtitles) });

/** Body of PUT …/generated-subtitles. */
export const UpdateGeneratedSubtitlesBody = Fields({ generated_subtitles: Optional(generatedSubtitles) });

/** Body of PUT …/new-asset-settings/static-renditions. */
export const UpdateStaticRenditionsBody = Fields({
  static_renditions: Type.Array(StaticRendition, {
    maxItems: MAX_ENTRIES,
    description: 'The files to make of each later asset, one per resolution. Replaces the list',
  }),
});
