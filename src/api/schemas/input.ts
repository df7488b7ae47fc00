import { type Static, Type } from 'typebox';
import { MAX_ENTRIES, passthrough } from './common.js';

/** Languages that speech recognition supports; `auto` detects the language. */
export const GENERATED_SUBTITLE_LANGUAGES = (
  'en es it pt de fr pl ru nl ca tr sv uk no fi sk el cs hr da ro bg auto' as const
).split(' ');

/** `<n>%` or `<n>px`; the formats are those of `api/validate/formats.ts`. */
const margin = () => Type.Optional(Type.String({ format: 'overlay-length' }));
const size = () => Type.Optional(Type.String({ format: 'overlay-size' }));

export const OverlaySettings = Type.Object({
  vertical_align: Type.Optional(Type.Enum(['top', 'middle', 'bottom'])),
  vertical_margin: margin(),
  horizontal_align: Type.Optional(Type.Enum(['left', 'center', 'right'])),
  horizontal_margin: margin(),
  width: size(),
  height: size(),
  opacity: Type.Optional(Type.String({ format: 'overlay-opacity' })),
});

export const GeneratedSubtitles = Type.Object({
  language_code: Type.Optional(Type.Enum(GENERATED_SUBTITLE_LANGUAGES)),
  name: Type.Optional(Type.String()),
  passthrough: Type.Optional(passthrough()),
});

export const Input = Type.Object({
  url: Type.String({ format: 'source-url' }),
  type: Type.Optional(Type.Enum(['video', 'audio', 'text'])),
  text_type: Type.Optional(Type.Enum(['subtitles'])),
  language_code: Type.Optional(Type.String({ format: 'bcp-47' })),
  name: Type.Optional(Type.String()),
  closed_captions: Type.Optional(Type.Boolean()),
  passthrough: Type.Optional(passthrough()),
  start_time: Type.Optional(Type.Number({ minimum: 0 })),
  end_time: Type.Optional(Type.Number({ minimum: 0 })),
  overlay_settings: Type.Optional(OverlaySettings),
  generated_subtitles: Type.Optional(Type.Array(GeneratedSubtitles, { maxItems: MAX_ENTRIES })),
});
export type Input = Static<typeof Input>;
export type GeneratedSubtitles = Static<typeof GeneratedSubtitles>;
