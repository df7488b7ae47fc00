import type { SegmentStore } from '../cache/segment-store.js';
import type { Database } from '../db/database.js';
import { listExistingAssets } from '../db/tables/assets/asset.js';
import { CHANGES, readChange } from '../db/tables/server/change.js';
import type { EarlySources } from '../early/sources.js';
import type { Logger } from '../telemetry/logger.js';

interface SweepDeletedDeps {
  readonly database: Database;
  readonly cache: Pick<SegmentStore, 'assetIds' | 'removeAsset'>;
  readonly earlySources: Pick<EarlySources, 'planOf'>;
  readonly logger: Logger;
}

/**
 * Removes what this server has cached of assets that other servers delete: at once when it is told,
 * and at the start and after a lost connection by asking which assets still exist. Returns a
 * function that stops it.
 */
export const sweepDeleted = async (deps: SweepDeletedDeps): Promise<() => Promise<void>> => {
  const { database, cache, earlySources, logger } = deps;
  const remove = (assetId: string): void => {
    cache.removeAsset(assetId).catch((error: unknown) => {
      logger.warn({ err: error, asset_id: assetId }, 'cached files of a deleted asset not removed');
    });
  };
  const sweep = async (): Promise<void> => {
    // An upload may play before its asset exists.
    const cached = [...cache.assetIds()].filter((id) => earlySources.planOf(id) === undefined);
    if (cached.length === 0) return;
    const existing = new Set(await listExistingAssets(database.queryable, cached));
    for (const assetId of cached) if (!existing.has(assetId)) remove(assetId);
  };
  const sweepSafely = (): void => {
    sweep().catch((error: unknown) => logger.warn({ err: error }, 'cached files of deleted assets not looked for'));
  };
  const stop = await database.listen(
    CHANGES,
    (payload) => {
      const { kind, type, id } = readChange(payload);
      if (kind === 'asset' && type === 'deleted') remove(id);
    },
    sweepSafely,
  );
  sweepSafely();
  return stop;
};
