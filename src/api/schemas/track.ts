import { type Static, Type } from 'typebox';
import { MAX_ENTRIES, passthrough } from './common.js';
import { GeneratedSubtitles } from './input.js';

/** Body of POST …/tracks. */
export const CreateTrackBody = Type.Object({
  url: Type.String({ format: 'source-url', description: 'URL of the subtitle file (SubRip, WebVTT) or audio file' }),
  type: Type.Enum(['text', 'audio']),
  text_type: Type.Optional(Type.Enum(['subtitles'], { default: 'subtitles' })),
  language_code: Type.String({ format: 'bcp-47', description: 'BCP 47' }),
  name: Type.Optional(Type.String({ description: 'Defaults to the name of the language' })),
  closed_captions: Type.Optional(Type.Boolean({ default: false })),
  passthrough: Type.Optional(passthrough()),
});
export type CreateTrackBody = Static<typeof CreateTrackBody>;

/** Body of PATCH …/tracks/{id}; an empty `passthrough` removes the value. */
export const UpdateTrackBody = Type.Object({
  language_code: Type.Optional(Type.String({ format: 'bcp-47', description: 'BCP 47' })),
  name: Type.Optional(Type.String()),
  closed_captions: Type.Optional(Type.Boolean()),
  passthrough: Type.Optional(passthrough()),
});
export type UpdateTrackBody = Static<typeof UpdateTrackBody>;

/** Body of POST …/tracks/{id}/generate-subtitles. */
export const GenerateSubtitlesBody = Type.Object({
  generated_subtitles: Type.Array(GeneratedSubtitles, { maxItems: MAX_ENTRIES }),
});
