import type { Database } from '../db/database.js';
import { areTrackFilesNeeded } from '../db/tables/assets/track-media.js';
import type { Clock } from '../lib/clock.js';
import type { BlobStore } from '../storage/blob-store.js';
import { trackPrefix } from '../storage/keys.js';
import { jobPrefix } from './jobs/job-files.js';
import { removeUnusedDirectives } from './tables/directive.js';
import { deleteOldRuns } from './tables/directive-run.js';
import { deleteOldRobotsJobs } from './tables/robots-job.js';

const KEEP_MS = 30 * 24 * 3600_000;
const BATCH = 100;

interface PurgeDeps {
  readonly database: Database;
  readonly blobs: Pick<BlobStore, 'deletePrefix'>;
  readonly clock: Clock;
}

/** Removes runs and jobs, with their files, 30 days after they have ended. */
export const purgeRobots = async (
  { database, blobs, clock }: PurgeDeps,
  isStopping = (): boolean => false,
): Promise<void> => {
  const before = new Date(clock.now().getTime() - KEEP_MS);
  await database.transaction(async (tx) => {
    await deleteOldRuns(tx, before);
    await removeUnusedDirectives(tx);
  });
  while (!isStopping()) {
    const removed = await deleteOldRobotsJobs(database.queryable, before, BATCH);
    for (const { id, asset_id: assetId, new_track_id: trackId } of removed) {
      await blobs.deletePrefix(jobPrefix(assetId, id));
      if (!(await areTrackFilesNeeded(database.queryable, trackId)))
        await blobs.deletePrefix(trackPrefix(assetId, trackId));
    }
    if (removed.length < BATCH) break;
  }
};
