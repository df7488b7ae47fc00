import type { Transaction } from '../../db/database.js';
import { findAssetById } from '../../db/tables/assets/asset.js';
import type { DomainContext } from '../context.js';
import { orderMp4Files } from '../renditions/mp4-support.js';
import { orderFiles } from '../renditions/static-renditions.js';
import { startDirectives } from '../robots/runs.js';
import { wakeRuns } from '../robots/wake-runs.js';
import { startGeneratedSubtitles } from '../tracks/generate-subtitles.js';
import { orderMaster } from './master-access.js';
import { orderShots } from './shots.js';

/**
 * Begins what an asset was asked for at its creation and can only be made of a ready one; in the transaction that makes it
 * ready, after that event. None of it makes the asset less ready when it fails.
 */
export const startPostReadyWork = async (
  context: Pick<DomainContext, 'clock' | 'queue' | 'artifactUrls' | 'recognizesSpeech'>,
  tx: Transaction,
  assetId: string,
): Promise<void> => {
  const asset = await findAssetById(tx, assetId);
  if (!asset) return;
  if (asset.mp4_support !== 'none') await orderMp4Files(context, tx, asset);
  else await orderFiles(context, tx, assetId);
  if (asset.master_access === 'temporary') await orderMaster(context, tx, assetId);
  if (asset.generate_shots) await orderShots(context, tx, asset);
  await startGeneratedSubtitles(context, tx, asset);
  await startDirectives(context, tx, asset);
  await wakeRuns(context, tx, assetId);
};
