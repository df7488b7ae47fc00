import type { Transaction } from '../../db/database.js';
import { findAssetById } from '../../db/tables/assets/asset.js';
import type { DomainContext } from '../context.js';
import { orderMp4Files } from '../renditions/mp4-support.js';
import { orderFiles } from '../renditions/static-renditions.js';
import { startGeneratedSubtitles } from '../tracks/generate-subtitles.js';
import { orderMaster } from './master-access.js';
import { orderShots } from './shots.js';

/**
 * Starts what was requested when the asset was created but requires a ready asset. Call it in the
 * transaction that makes the asset ready, after that event. If any of it fails, the asset stays
 * ready.
 */
export const startPostReadyWork = async (
  context: Pick<DomainContext, 'clock' | 'wire' | 'queue' | 'artifactUrls' | 'recognizesSpeech' | 'assetHook'>,
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
  await context.assetHook?.onReady(context, tx, asset);
};
