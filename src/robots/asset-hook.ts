import type { AssetHook } from '../domain/context.js';
import { startDirectives } from './directives/runs.js';
import { failJobsOfAsset } from './jobs/job-state.js';
import { wakeRuns } from './jobs/wake-runs.js';
import { findDirectiveIds } from './tables/directive.js';

export const robotsHook: AssetHook = {
  findDirectives: findDirectiveIds,
  onReady: async (context, tx, asset) => {
    await startDirectives(context, tx, asset);
    await wakeRuns(context, tx, asset.id);
  },
  onChanged: wakeRuns,
  beforeRemoval: failJobsOfAsset,
};
