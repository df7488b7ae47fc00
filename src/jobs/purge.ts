import type { SegmentStore } from '../cache/segment-store.js';
import type { JobHandler } from '../queue/queue.js';
import type { BlobStore } from '../storage/blob-store.js';
import { assetPrefix } from '../storage/keys.js';
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
  readonly logger: Logger;
}

/** Removes what a deleted asset left outside the database: its blobs and its cached files. */
export const createPurgeHandler =
  (deps: PurgeDeps): JobHandler<{ assetId: string }> =>
  async (job) => {
    const { assetId } = job.payload;
    if (await deps.isSourceUsed(assetId)) {
      await deps.segments.removeAsset(assetId);
      deps.logger.info({ asset_id: assetId }, 'clips still need the files of a deleted asset');
      return;
    }
    await removeAssetFiles(deps, assetId);
    deps.logger.info({ asset_id: assetId }, 'the files of a deleted asset are removed');
  };
