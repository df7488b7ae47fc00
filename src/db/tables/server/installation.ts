import type { Queryable } from '../../database.js';
import type { NewRow } from '../../schema.js';

/**
 * Returns the key for everything that the installation signs itself; it exists once the database is
 * set up.
 */
export const getInstallationSecret = async (db: Queryable): Promise<string> =>
  (await db.selectFrom('installation').select('secret').executeTakeFirstOrThrow()).secret;

/**
 * Where the blobs are: the place that a server recorded first, which becomes `place` if there is
 * none.
 */
export const keepBlobUrl = async (db: Queryable, url: string): Promise<string> => {
  await db.updateTable('installation').set({ blobs: url }).where('blobs', 'is', null).execute();
  return (await db.selectFrom('installation').select('blobs').executeTakeFirstOrThrow()).blobs!;
};

/** False when the database already belongs to an installation; only one caller ever gets true. */
export const insertInstallation = async (db: Queryable, row: NewRow<'installation'>): Promise<boolean> => {
  const result = await db
    .insertInto('installation')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return (result.numInsertedOrUpdatedRows ?? 0n) > 0n;
};
