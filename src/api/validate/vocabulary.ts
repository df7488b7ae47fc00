import { VocabularyBody } from '../schemas/vocabulary.js';
import { Problems } from './problems.js';
import { requireJsonObject, validate } from './validate.js';

/** @throws KinoraError `invalid_parameters` */
export const validateVocabulary = (body: unknown): VocabularyBody => {
  const problems = new Problems();
  const vocabulary = validate(VocabularyBody, requireJsonObject(body), [], problems);
  problems.throwIfAny(body);
  return vocabulary;
};
