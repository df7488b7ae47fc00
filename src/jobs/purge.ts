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

/** Removes what a deleted asset left outside the database: its blobs and its cached files. */
export const createPurgeHandler =
  (deps: AssetFiles & { readonly logger: Logger }): JobHandler<{ assetId: string }> =>
  async (job) => {
    const { assetId } = job.payload;
    await removeAssetFiles(deps, assetId);
    deps.logger.info({ asset_id: assetId }, 'the files of a deleted asset are removed');
  };
