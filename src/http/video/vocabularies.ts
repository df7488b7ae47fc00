import { serializeVocabulary } from '../../api/responses/vocabulary.js';
import { readPageQuery } from '../../api/validate/list-query.js';
import { validateVocabulary } from '../../api/validate/vocabulary.js';
import type { DomainContext } from '../../domain/context.js';
import {
  createVocabulary,
  deleteVocabulary,
  getVocabulary,
  listVocabularies,
  updateVocabulary,
} from '../../domain/tracks/vocabularies.js';
import type { Route } from '../plugins/operation-route.js';

const LIMITS = { default: 10, max: 10 };

export const vocabularyRoutes = (route: Route, context: DomainContext): void => {
  route('createTranscriptionVocabulary', async ({ caller, body }) => {
    const vocabulary = await createVocabulary(context, caller.environment.id, validateVocabulary(body ?? {}));
    return { data: serializeVocabulary(vocabulary) };
  });

  route('listTranscriptionVocabularies', async ({ caller, query }) => {
    const vocabularies = await listVocabularies(context, caller.environment.id, readPageQuery(query, LIMITS));
    return { data: vocabularies.map(serializeVocabulary) };
  });

  route('getTranscriptionVocabulary', async ({ caller, params }) => ({
    data: serializeVocabulary(await getVocabulary(context, caller.environment.id, params.vocabularyId!)),
  }));

  route('updateTranscriptionVocabulary', async ({ caller, params, body }) => {
    const { id } = await getVocabulary(context, caller.environment.id, params.vocabularyId!);
    const vocabulary = await updateVocabulary(context, caller.environment.id, id, validateVocabulary(body ?? {}));
    return { data: serializeVocabulary(vocabulary) };
  });

  route('deleteTranscriptionVocabulary', async ({ caller, params }) => {
    await deleteVocabulary(context, caller.environment.id, params.vocabularyId!);
    return undefined;
  });
};
