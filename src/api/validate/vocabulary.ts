import type { VocabularyContent } from '../../domain/tracks/vocabularies.js';
import { Problems } from '../../lib/problems.js';
import { VocabularyBody } from '../schemas/vocabulary.js';
import { requireJsonObject, validate } from './validate.js';

/** @throws KinoraError `invalid_parameters` */
export const validateVocabulary = (body: unknown): VocabularyContent => {
  const problems = new Problems();
  const vocabulary = validate(VocabularyBody, requireJsonObject(body), [], problems);
  problems.throwIfAny(body);
  return vocabulary;
};
