import { listDeliveredParts } from '../../db/tables/playback/usage.js';
import { describeDeliveries, describeViews } from '../calculations/engagement.js';
import type { Workflow } from '../support/workflow-run.js';

/**
 * What viewers played of the asset, as their players report it. Without a view, how often each part
 * was delivered, since counting began.
 */
export const generateEngagementInsights: Workflow = async ({ context, asset, findWatched }) => {
  const watched = await findWatched(asset);
  const outputs = watched
    ? describeViews(watched)
    : describeDeliveries(await listDeliveredParts(context.database.queryable, asset.id), asset.duration_seconds ?? 0);
  return { publish: async () => ({ outputs }) };
};
