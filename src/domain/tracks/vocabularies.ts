import type { Row } from '../../db/schema.js';
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
import type { PageQuery } from '../requests/list-query.js';

export interface VocabularyContent {
  readonly name?: string | undefined;
  readonly phrases: string[];
  readonly passthrough?: string | undefined;
}

export type VocabularyRecord = Pick<
  Row<'transcription_vocabulary'>,
  'id' | 'created_at' | 'updated_at' | 'name' | 'phrases' | 'passthrough'
>;

type Context = Pick<DomainContext, 'database' | 'clock'>;

/** An empty string counts as absent. */
const contentOf = ({ name, phrases, passthrough }: VocabularyContent) => ({
  name: name || null,
  phrases,
  passthrough: passthrough || null,
});

export const createVocabulary = (
  { database, clock }: Context,
  environmentId: string,
  body: VocabularyContent,
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
  required(isId(id) ? await findVocabulary(database.queryable, environmentId, id) : undefined);

/**
 * Fields that are not given are cleared.
 * @throws KinoraError `not_found`
 */
export const updateVocabulary = async (
  { database, clock }: Context,
  environmentId: string,
  id: string,
  body: VocabularyContent,
): Promise<VocabularyRecord> => {
  const content = { ...contentOf(body), updated_at: clock.now() };
  return required(await replaceVocabulary(database.queryable, environmentId, id, content));
};

/** @throws KinoraError `not_found` */
export const deleteVocabulary = async ({ database }: Context, environmentId: string, id: string): Promise<void> => {
  const removed = isId(id) && (await removeVocabulary(database.queryable, environmentId, id));
  if (!removed) throw new KinoraError('not_found');
};

const required = (vocabulary: VocabularyRecord | undefined): VocabularyRecord => {
  if (!vocabulary) throw new KinoraError('not_found');
  return vocabulary;
};
