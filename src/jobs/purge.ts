import type { SegmentStore } from '../cache/segment-store.js';
import { queues } from '../domain/queues.js';
import type { EarlySources } from '../early/sources.js';
import type { Clock } from '../lib/clock.js';
import type { JobHandler, Queue } from '../queue/queue.js';
import type { BlobStore } from '../storage/blob-store.js';
import { assetPrefix, mastersPrefix, renditionsPrefix, shotsPrefix } from '../storage/keys.js';
import type { Logger } from '../telemetry/logger.js';

interface AssetFiles {
  readonly blobs: BlobStore;
  readonly cache: SegmentStore;
  readonly earlySources: Pick<EarlySources, 'withdraw'>;
}

/** Removes an asset's files outside the database. */
export const removeAssetFiles = async ({ blobs, cache, earlySources }: AssetFiles, assetId: string): Promise<void> => {
  earlySources.withdraw(assetId);
  // In this order: without a source, no more segments can be packaged.
  await blobs.deletePrefix(assetPrefix(assetId));
  await cache.removeAsset(assetId);
};

export interface PurgeDeps extends AssetFiles {
  /** Whether clips still need the files of a deleted asset. */
  readonly isSourceUsed: (assetId: string) => Promise<boolean>;
  readonly queue: Pick<Queue, 'enqueue'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** By this time, all work that was running when the asset was deleted has stopped. */
const AGAIN_AFTER_MS = 10 * 60_000;

/**
 * Removes a deleted asset's blobs and cached files. This runs twice, because a run that was writing
 * for the asset may publish a file just after the first purge and be killed before it can remove
 * that file.
 */
export const createPurgeHandler =
  (deps: PurgeDeps): JobHandler<{ assetId: string; isLast?: boolean }> =>
  async (job) => {
    const { assetId, isLast } = job.payload;
    if (!isLast) {
      const runAt = new Date(deps.clock.now().getTime() + AGAIN_AFTER_MS);
      await deps.queue.enqueue(queues.purgeAsset, { assetId, isLast: true }, { runAt });
    }
    if (await deps.isSourceUsed(assetId)) {
      // Files made for this asset alone are removed anyway.
      for (const prefix of [mastersPrefix(assetId), shotsPrefix(assetId), renditionsPrefix(assetId)])
        await deps.blobs.deletePrefix(prefix);
      await deps.cache.removeAsset(assetId);
      deps.logger.info({ asset_id: assetId }, 'files of deleted asset kept for clips');
      return;
    }
    await removeAssetFiles(deps, assetId);
    deps.logger.info({ asset_id: assetId }, 'files of deleted asset removed');
  };
