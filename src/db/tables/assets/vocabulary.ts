import type { Queryable } from '../../database.js';
import type { Row } from '../../schema.js';

type Vocabulary = Row<'transcription_vocabulary'>;
type Content = Pick<Vocabulary, 'name' | 'phrases' | 'passthrough'>;

const columns = ({ name, phrases, passthrough }: Content) => ({
  name,
  phrases: JSON.stringify(phrases),
  passthrough,
});

export const insertVocabulary = (
  db: Queryable,
  row: Content & Pick<Vocabulary, 'id' | 'environment_id' | 'created_at'>,
): Promise<Vocabulary> =>
  db
    .insertInto('transcription_vocabulary')
    .values({
      id: row.id,
      environment_id: row.environment_id,
      created_at: row.created_at,
      updated_at: row.created_at,
      ...columns(row),
    })
    .returningAll()
    .executeTakeFirstOrThrow();

/** Undefined when the environment has no such vocabulary. */
export const replaceVocabulary = (
  db: Queryable,
  environmentId: string,
  id: string,
  content: Content & Pick<Vocabulary, 'updated_at'>,
): Promise<Vocabulary | undefined> =>
  db
    .updateTable('transcription_vocabulary')
    .set({ updated_at: content.updated_at, ...columns(content) })
    .where('id', '=', id)
    .where('environment_id', '=', environmentId)
    .returningAll()
    .executeTakeFirst();

export const findVocabulary = (db: Queryable, environmentId: string, id: string): Promise<Vocabulary | undefined> =>
  db
    .selectFrom('transcription_vocabulary')
    .selectAll()
    .where('id', '=', id)
    .where('environment_id', '=', environmentId)
    .executeTakeFirst();

/** Newest first. */
export const listVocabularies = (
  db: Queryable,
  environmentId: string,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<Vocabulary[]> =>
  db
    .selectFrom('transcription_vocabulary')
    .selectAll()
    .where('environment_id', '=', environmentId)
    .orderBy('created_at', 'desc')
    .orderBy('seq', 'desc')
    .limit(limit)
    .offset(offset)
    .execute();

/** Lists the phrases of the asset's environment, newest vocabularies first. */
export const listPhrases = async (db: Queryable, assetId: string): Promise<string[]> => {
  const rows = await db
    .selectFrom('transcription_vocabulary')
    .innerJoin('asset', 'asset.environment_id', 'transcription_vocabulary.environment_id')
    .select('transcription_vocabulary.phrases')
    .where('asset.id', '=', assetId)
    .orderBy('transcription_vocabulary.created_at', 'desc')
    .limit(100)
    .execute();
  return rows.flatMap(({ phrases }) => phrases);
};

/** Those of the IDs that vocabularies of the environment have. */
export const listExistingVocabularies = async (
  db: Queryable,
  environmentId: string,
  ids: readonly string[],
): Promise<string[]> => {
  if (ids.length === 0) return [];
  const select = db.selectFrom('transcription_vocabulary').select('id').where('environment_id', '=', environmentId);
  return (await select.where('id', 'in', ids).execute()).map(({ id }) => id);
};

/** False when the environment has no such vocabulary. */
export const removeVocabulary = async (db: Queryable, environmentId: string, id: string): Promise<boolean> => {
  const result = await db
    .deleteFrom('transcription_vocabulary')
    .where('id', '=', id)
    .where('environment_id', '=', environmentId)
    .executeTakeFirst();
  return result.numDeletedRows > 0n;
};
