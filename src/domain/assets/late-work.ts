import type { Transaction } from '../../db/database.js';
import { findAssetById } from '../../db/tables/asset.js';
import type { DomainContext } from '../context.js';
import { startGeneratedSubtitles } from '../tracks/generate-subtitles.js';

/**
 * Begins what an asset was asked for at its creation and can only be made of a ready one; in the transaction that makes it
 * ready, after that event. None of it makes the asset less ready when it fails.
 */
export const startLateWork = async (
  context: Pick<DomainContext, 'clock' | 'queue'>,
  tx: Transaction,
  assetId: string,
): Promise<void> => {
  const asset = await findAssetById(tx, assetId);
  if (!asset) return;
  await startGeneratedSubtitles(context, tx, asset);
};
