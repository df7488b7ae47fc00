import type { Transaction } from '../../db/database.js';
import type { Row, StoredChapters } from '../../db/schema.js';
import { saveChapters } from '../../db/tables/assets/asset.js';

/**
 * Gives the asset chapters in the transaction of somebody who holds it. Whoever commits it calls `onTracksChanged`, so that
 * viewers see them. Returns the id of the chapters that were there before.
 */
export const writeChapters = async (
  tx: Transaction,
  asset: Row<'asset'>,
  chapters: StoredChapters,
): Promise<string | undefined> => {
  await saveChapters(tx, asset.id, chapters);
  return asset.chapters?.id;
};
