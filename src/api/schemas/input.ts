import { Type } from 'typebox';
import { GENERATED_SUBTITLE_LANGUAGES } from '../../domain/requests/asset-request.js';
import { MAX_ENTRIES, passthrough } from './common.js';

export const languageCode = (description: string) =>
  Type.String({ format: 'bcp-47', description: `${description}, as a BCP 47 code such as \`en\` or \`pt-BR\`` });

/** `<n>%` or `<n>px`; the formats are those of `api/validate/formats.ts`. */
const margin = (description: string) => Type.Optional(Type.String({ format: 'overlay-length', description }));
const size = (description: string) => Type.Optional(Type.String({ format: 'overlay-size', description }));

const UNITS = 'as `<n>%` of the frame, or as `<n>px` of a frame scaled to fit 1920x1080';

export const OverlaySettings = Type.Object({
  vertical_align: Type.Optional(
    Type.Enum(['top', 'middle', 'bottom'], {
      description: 'The part of the frame that `vertical_margin` counts from. Defaults to `top`',
    }),
  ),
  vertical_margin: margin(
    `Distance from the aligned edge, ${UNITS}; negative values move the image off the frame. With \`middle\`, positive values move it down. Defaults to 0`,
  ),
  horizontal_align: Type.Optional(
    Type.Enum(['left', 'center', 'right'], {
      description: 'The part of the frame that `horizontal_margin` counts from. Defaults to `left`',
    }),
  ),
  horizontal_margin: margin(
    `Distance from the aligned edge, ${UNITS}; negative values move the image off the frame. With \`center\`, positive values move it right. Defaults to 0`,
  ),
  width: size(`Width of the image, ${UNITS}. When absent, it follows from \`height\` or the size of the image`),
  height: size(`Height of the image, ${UNITS}. When absent, it follows from \`width\` or the size of the image`),
  opacity: Type.Optional(
    Type.String({
      format: 'overlay-opacity',
      description: 'How opaque the image is, from `0%` (invisible) to `100%`, the default',
    }),
  ),
});

export const GeneratedSubtitles = Type.Object({
  language_code: Type.Optional(
    Type.Enum(GENERATED_SUBTITLE_LANGUAGES, {
      description: 'The language that is spoken. `auto` detects it. Subtitles are not translated. Defaults to `en`',
    }),
  ),
  name: Type.Optional(
    Type.String({
      description:
        'Name of the track in the menus of players, unique among text tracks. Defaults to a name made from the language',
    }),
  ),
  passthrough: Type.Optional(passthrough(' with the track')),
});

export const Input = Type.Object({
  url: Type.String({
    format: 'input-url',
    description:
      'URL of the file to download: HTTP or HTTPS. The first input is the main file; `mux://assets/{id}` there makes a clip of an asset, and `s3://bucket/key` plays an object of a bucket of `KINORA_SOURCE_BUCKETS` in place, without a copy. Others are subtitles (SubRip, WebVTT), alternate audio, or an overlay image of at most 4096x4096 pixels',
  }),
  type: Type.Optional(
    Type.Enum(['video', 'audio', 'text'], {
      description: 'What the file is. Required for subtitles; only the first input can be `video`',
    }),
  ),
  text_type: Type.Optional(
    Type.Enum(['subtitles'], { description: 'The kind of text track. Required when `type` is `text`' }),
  ),
  language_code: Type.Optional(
    languageCode('Language of the track. Required for subtitles and alternate audio; on the first input, of its audio'),
  ),
  name: Type.Optional(
    Type.String({
      description:
        'Name of the track in the menus of players, unique among tracks of its type; on the first input, of its audio track. Defaults to the English name of the language',
    }),
  ),
  closed_captions: Type.Optional(
    Type.Boolean({
      description:
        'Whether the subtitles also describe noises and music, for viewers who cannot hear. Subtitles only. Defaults to false',
    }),
  ),
  passthrough: Type.Optional(passthrough(' with the track. Subtitles only')),
  start_time: Type.Optional(
    Type.Number({
      minimum: 0,
      description: 'Start of a clip in seconds of the source asset. Only for clips. Defaults to 0',
    }),
  ),
  end_time: Type.Optional(
    Type.Number({
      minimum: 0,
      description:
        'End of a clip in seconds of the source asset, at least 0.5 after `start_time`. Only for clips. Defaults to the end of the source',
    }),
  ),
  embedded_tracks: Type.Optional(
    Type.Boolean({
      description:
        'Only in Kinora: whether the subtitle streams of the file (SubRip, ASS, WebVTT, MP4 timed text) become text tracks, and its further audio streams alternate audio tracks. First input only. Streams that are left out are named in `video.asset.warning`. Defaults to `KINORA_EMBEDDED_TRACKS`',
    }),
  ),
  overlay_settings: Type.Optional(
    Type.Object(OverlaySettings.properties, {
      description: 'Position, size and opacity of an overlay image, such as a logo. Not allowed on the first input',
    }),
  ),
  generated_subtitles: Type.Optional(
    Type.Array(GeneratedSubtitles, {
      maxItems: MAX_ENTRIES,
      description:
        'Subtitles to generate from the speech in this file, after the asset is `ready`. Only for video and audio',
    }),
  ),
});
