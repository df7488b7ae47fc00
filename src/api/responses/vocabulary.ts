import { Type } from 'typebox';
import type { VocabularyRecord } from '../../domain/tracks/vocabularies.js';
import { id, unixSeconds } from '../schemas/response.js';
import { VocabularyBody } from '../schemas/vocabulary.js';
import { unixSeconds as unixText, withoutNulls } from '../wire.js';

export const VocabularyResponse = Type.Object(
  {
    id: id('Unique ID of the vocabulary'),
    ...VocabularyBody.properties,
    created_at: unixSeconds('When the vocabulary was created'),
    updated_at: unixSeconds('When the vocabulary was last replaced'),
  },
  { title: 'TranscriptionVocabulary', description: 'Words and phrases that speech recognition should expect' },
);

export const serializeVocabulary = ({ id, created_at, updated_at, name, phrases, passthrough }: VocabularyRecord) =>
  withoutNulls({
    id,
    name,
    phrases,
    passthrough,
    created_at: unixText(created_at),
    updated_at: unixText(updated_at),
  });
