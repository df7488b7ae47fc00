import type { Transaction } from '../../db/database.js';
import type { Row, StoredChapters } from '../../db/schema.js';
import { saveChapters } from '../../db/tables/assets/asset.js';

/**
 * Adds chapters to an asset in a transaction that has locked it. The caller must call
 * `onPlayableChanged` after the commit, so that viewers see them. Returns the ID of the chapters
 * that were replaced.
 */
export const writeChapters = async (
  tx: Transaction,
  asset: Row<'asset'>,
  chapters: StoredChapters,
): Promise<string | undefined> => {
  await saveChapters(tx, asset.id, chapters);
  return asset.chapters?.id;
};
