import { Type } from 'typebox';
import { MAX_ENTRIES, passthrough } from './common.js';
import { GeneratedSubtitles, languageCode } from './input.js';

const closedCaptions = {
  description: 'Whether the subtitles also describe noises and music, for viewers who cannot hear. Text tracks only',
};
const NAME = 'Name of the track in the menus of players. Must be unique among the tracks of its type';

/** Body of POST …/tracks. */
export const CreateTrackBody = Type.Object({
  url: Type.String({
    format: 'source-url',
    description:
      'URL of the file, which the server downloads: a SubRip or WebVTT file for `text`; for `audio`, an audio file such as M4A, WAV or MP3',
  }),
  type: Type.Enum(['text', 'audio'], { description: 'The kind of track: subtitles or alternate audio' }),
  text_type: Type.Optional(
    Type.Enum(['subtitles'], { default: 'subtitles', description: 'The kind of text track. Only subtitles exist' }),
  ),
  language_code: languageCode('Language of the track'),
  name: Type.Optional(Type.String({ description: `${NAME}. Defaults to the English name of the language` })),
  closed_captions: Type.Optional(Type.Boolean({ default: false, ...closedCaptions })),
  passthrough: Type.Optional(passthrough(' with the track. Text tracks only')),
});

/** Body of PATCH …/tracks/{id}; an empty `passthrough` removes the value. */
export const UpdateTrackBody = Type.Object({
  language_code: Type.Optional(languageCode('Language of the track')),
  name: Type.Optional(Type.String({ description: NAME })),
  closed_captions: Type.Optional(Type.Boolean(closedCaptions)),
  passthrough: Type.Optional(passthrough(' with the track. An empty string removes it. Text tracks only')),
});

/** Body of POST …/tracks/{id}/generate-subtitles. */
export const GenerateSubtitlesBody = Type.Object({
  generated_subtitles: Type.Array(GeneratedSubtitles, {
    maxItems: MAX_ENTRIES,
    description: 'The subtitle tracks to generate from the speech of this audio track, one per entry',
  }),
});
