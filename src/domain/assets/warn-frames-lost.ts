import { setTimeout as delay } from 'node:timers/promises';
import { saveFramesLost } from '../../db/tables/assets/asset.js';
import { describeSegmentLoss, type SegmentLoss } from '../../media/plan/source-warnings.js';
import type { Logger } from '../../telemetry/logger.js';
import { recordAssetWarning } from '../asset-view/record-asset-event.js';
import type { DomainContext } from '../context.js';

/** A viewer waits for the segment. */
const MAX_WAIT_MS = 2000;

/**
 * Records the warning `frames_lost`, unless the asset has had it. While the asset is not ready,
 * only the message is saved, and the ingest records the warning. Never rejects: it resolves when
 * this is committed, the database fails, or two seconds pass.
 */
export const warnFramesLost = async (
  { database, clock, wire, logger }: Pick<DomainContext, 'database' | 'clock' | 'wire'> & { readonly logger: Logger },
  assetId: string,
  loss: SegmentLoss,
): Promise<void> => {
  const recorded = database
    .transaction(async (tx) => {
      const warning = describeSegmentLoss(loss);
      const asset = await saveFramesLost(tx, assetId, warning.message);
      if (asset?.status === 'ready') await recordAssetWarning({ clock, wire }, tx, asset, warning);
    })
    .catch((error: unknown) => {
      logger.warn({ err: error, asset_id: assetId }, 'warning about lost frames not recorded');
    });
  await Promise.race([recorded, delay(MAX_WAIT_MS, undefined, { ref: false })]);
};
