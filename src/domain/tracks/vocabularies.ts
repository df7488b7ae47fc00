import type { VocabularyBody } from '../../api/schemas/vocabulary.js';
import type { VocabularyRecord } from '../../api/serialize/vocabulary.js';
import type { PageQuery } from '../../api/validate/list-query.js';
import {
  findVocabulary,
  insertVocabulary,
  listVocabularies as listVocabularyRows,
  removeVocabulary,
  replaceVocabulary,
} from '../../db/tables/assets/vocabulary.js';
import { KinoraError } from '../../lib/errors.js';
import { isId, newId } from '../../lib/ids.js';
import type { DomainContext } from '../context.js';

type Context = Pick<DomainContext, 'database' | 'clock'>;

/** An empty string counts as absent. */
const contentOf = ({ name, phrases, passthrough }: VocabularyBody) => ({
  name: name || null,
  phrases,
  passthrough: passthrough || null,
});

export const createVocabulary = (
  { database, clock }: Context,
  environmentId: string,
  body: VocabularyBody,
): Promise<VocabularyRecord> =>
  insertVocabulary(database.queryable, {
    id: newId(),
    environment_id: environmentId,
    created_at: clock.now(),
    ...contentOf(body),
  });

/** Newest first. */
export const listVocabularies = (
  { database }: Context,
  environmentId: string,
  page: PageQuery,
): Promise<VocabularyRecord[]> => listVocabularyRows(database.queryable, environmentId, page);

/** @throws KinoraError `not_found` */
export const getVocabulary = async (
  { database }: Context,
  environmentId: string,
  id: string,
): Promise<VocabularyRecord> =>
  found(isId(id) ? await findVocabulary(database.queryable, environmentId, id) : undefined);

/**
 * Fields that are not given are cleared.
 * @throws KinoraError `not_found`
 */
export const updateVocabulary = async (
  { database, clock }: Context,
  environmentId: string,
  id: string,
  body: VocabularyBody,
): Promise<VocabularyRecord> => {
  const content = { ...contentOf(body), updated_at: clock.now() };
  return found(await replaceVocabulary(database.queryable, environmentId, id, content));
};

/** @throws KinoraError `not_found` */
export const deleteVocabulary = async ({ database }: Context, environmentId: string, id: string): Promise<void> => {
  const removed = isId(id) && (await removeVocabulary(database.queryable, environmentId, id));
  if (!removed) throw new KinoraError('not_found');
};

const found = (vocabulary: VocabularyRecord | undefined): VocabularyRecord => {
  if (!vocabulary) throw new KinoraError('not_found');
  return vocabulary;
};
