import { listDeliveredParts } from '../../db/tables/playback/usage.js';
import { describeEngagement } from '../calculations/engagement.js';
import type { Workflow } from '../support/workflow-run.js';

/** How often viewers were sent each part of the asset, since counting began. */
export const generateEngagementInsights: Workflow = async ({ context, asset }) => {
  const parts = await listDeliveredParts(context.database.queryable, asset.id);
  const outputs = describeEngagement(parts, asset.duration_seconds ?? 0);
  return { publish: async () => ({ outputs }) };
};
