import { type Static, Type } from 'typebox';
import { passthrough } from './common.js';

/** Body of POST and PUT …/transcription-vocabularies. */
export const VocabularyBody = Type.Object({
  name: Type.Optional(Type.String()),
  phrases: Type.Array(Type.String({ format: 'vocabulary-phrase' }), { maxItems: 1000 }),
  passthrough: Type.Optional(passthrough()),
});
export type VocabularyBody = Static<typeof VocabularyBody>;
