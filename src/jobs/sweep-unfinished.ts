import type { Database } from '../db/database.js';
import { deleteTransfer, listEndedTransfers } from '../db/tables/assets/upload-transfer.js';
import { listUnfinishedSources } from '../db/tables/server/unfinished.js';
import type { BlobStore } from '../storage/blob-store.js';
import { sourceKey, trackSourceKey } from '../storage/keys.js';
import type { Logger } from '../telemetry/logger.js';

interface SweepDeps {
  readonly database: Database;
  readonly blobs: Pick<BlobStore, 'sweepUnfinished' | 'discardShared'>;
  readonly logger: Logger;
}

/**
 * Removes unfinished files of earlier runs that nobody will complete. Only downloads and uploads
 * continue where they stopped; every other file is written from its start. Must be called before
 * jobs and uploads start.
 */
export const sweepUnfinished = async ({ database, blobs, logger }: SweepDeps): Promise<void> => {
  const { assetIds, tracks } = await listUnfinishedSources(database.queryable);
  const needed = [
    ...assetIds.map(sourceKey),
    ...tracks.map(({ assetId, trackId }) => trackSourceKey(assetId, trackId)),
  ];
  const files = await blobs.sweepUnfinished(new Set(needed));
  if (files > 0) logger.info({ files }, 'unused unfinished files removed');
  await sweepTransfers({ database, blobs, logger });
};

/** What servers that stopped left in the store of uploads that have ended. */
const sweepTransfers = async ({ database, blobs, logger }: SweepDeps): Promise<void> => {
  if (!blobs.discardShared) return;
  const db = database.queryable;
  for (const { upload_id, target_asset_id } of await listEndedTransfers(db)) {
    try {
      await blobs.discardShared(sourceKey(target_asset_id));
      await deleteTransfer(db, upload_id);
    } catch (error) {
      // The next start tries again.
      logger.warn({ err: error, upload_id }, 'rest of an upload not removed');
    }
  }
};
