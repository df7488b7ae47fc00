import { listDeliveredParts } from '../../../db/tables/playback/usage.js';
import { describeEngagement } from '../../../media/robots/engagement.js';
import type { Workflow } from '../support/workflow.js';

/** What viewers were sent of each part of the asset, since it is counted. */
export const generateEngagementInsights: Workflow = async ({ context, asset }) => {
  const parts = await listDeliveredParts(context.database.queryable, asset.id);
  const outputs = describeEngagement(parts, asset.duration_seconds ?? 0);
  return { publish: async () => ({ outputs }) };
};
