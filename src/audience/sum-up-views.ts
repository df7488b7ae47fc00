import type { Database } from '../db/database.js';
import type { Clock } from '../lib/clock.js';
import { summarizeRenditions } from './calculations/summarize-renditions.js';
import { endSilentViews, lockEndedViews, sumUp } from './tables/view-sums.js';

/** Players report every 10 seconds while they play. */
const SILENCE_MS = 120_000;
/** Until every server has written what it received of a view. */
const SETTLED_MS = 60_000;
/** In one transaction. Others wait for it on the embedded database. */
const BATCH = 500;

/**
 * Ends views of which nothing was reported for two minutes, and adds views that have ended to the
 * roll-ups. Each is added once, whichever servers do this at the same time.
 */
export const sumUpViews = async (
  { database, clock }: { readonly database: Database; readonly clock: Clock },
  isStopping = () => false,
): Promise<void> => {
  const before = (ms: number): Date => new Date(clock.now().getTime() - ms);
  while (!isStopping() && (await endSilentViews(database.queryable, before(SILENCE_MS), BATCH)) === BATCH);
  while (!isStopping()) {
    const count = await database.transaction(async (tx) => {
      const views = await lockEndedViews(tx, before(SETTLED_MS), BATCH);
      const summed = views.map((view) => ({
        ...{ environment_id: view.environment_id, id: view.id },
        ...summarizeRenditions(view),
      }));
      if (summed.length > 0) await sumUp(tx, summed);
      return summed.length;
    });
    if (count < BATCH) return;
  }
};
