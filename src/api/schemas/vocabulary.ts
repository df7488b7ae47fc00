import { Type } from 'typebox';
import { passthrough } from './common.js';

/** Body of POST and PUT …/transcription-vocabularies. */
export const VocabularyBody = Type.Object({
  name: Type.Optional(
    Type.String({ description: 'Name of the vocabulary, for people. Not used by speech recognition' }),
  ),
  phrases: Type.Array(Type.String({ format: 'vocabulary-phrase' }), {
    maxItems: 1000,
    description:
      'Words and phrases that speech recognition should expect, such as product names: at most 1,000, each with 1 to 32 characters',
  }),
  passthrough: Type.Optional(passthrough(' with the vocabulary')),
});
