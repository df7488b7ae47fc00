import type { SegmentStore } from '../cache/segment-store.js';
import type { JobHandler } from '../queue/queue.js';
import type { BlobStore } from '../storage/blob-store.js';
import { assetPrefix } from '../storage/keys.js';

/** Removes what a deleted asset left outside the database: its blobs and its cached files. */
export const createPurgeHandler =
  (deps: { blobs: BlobStore; segments: SegmentStore }): JobHandler<{ assetId: string }> =>
  async (job) => {
    await deps.segments.removeAsset(job.payload.assetId);
    await deps.blobs.deletePrefix(assetPrefix(job.payload.assetId));
  };
