import type { SegmentStore } from '../cache/segment-store.js';
import { queues } from '../domain/queues.js';
import type { Clock } from '../lib/clock.js';
import type { JobHandler, Queue } from '../queue/queue.js';
import type { BlobStore } from '../storage/blob-store.js';
import { assetPrefix, mastersPrefix, renditionsPrefix, shotsPrefix } from '../storage/keys.js';
import type { Logger } from '../telemetry/logger.js';

interface AssetFiles {
  readonly blobs: BlobStore;
  readonly segments: SegmentStore;
}

/** Removes what an asset has outside the database. */
export const removeAssetFiles = async ({ blobs, segments }: AssetFiles, assetId: string): Promise<void> => {
  // In this order: without a source no further segment can be made.
  await blobs.deletePrefix(assetPrefix(assetId));
  await segments.removeAsset(assetId);
};

export interface PurgeDeps extends AssetFiles {
  /** Clips need the files of an asset for longer than the asset is there. */
  readonly isSourceUsed: (assetId: string) => Promise<boolean>;
  readonly queue: Pick<Queue, 'enqueue'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What was still running when the asset was deleted has long stopped then. */
const AGAIN_AFTER_MS = 10 * 60_000;

/**
 * Removes what a deleted asset left outside the database: its blobs and its cached files. Twice, because a run that was
 * writing for it may publish a file just after the first time and be killed before it can remove that itself.
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
      // But not what was made of them for this asset alone.
      for (const prefix of [mastersPrefix(assetId), shotsPrefix(assetId), renditionsPrefix(assetId)])
        await deps.blobs.deletePrefix(prefix);
      await deps.segments.removeAsset(assetId);
      deps.logger.info({ asset_id: assetId }, 'files of deleted asset kept for clips');
      return;
    }
    await removeAssetFiles(deps, assetId);
    deps.logger.info({ asset_id: assetId }, 'files of deleted asset removed');
  };
