import type { Gain } from '../../media/plan/plan.js';
import type { DraftPlan } from '../../media/plan/plan-asset.js';
import type { IngestContext } from './context.js';
import { measureGain } from './file/measure-gain.js';

/** The gain for the asset's part of the audio; undefined unless `normalize_audio` is set and a gain is needed. */
export const measureAssetGain = async (
  context: IngestContext,
  path: string,
  { plan: { audio } }: DraftPlan,
): Promise<Gain | undefined> =>
  context.row.asset.normalize_audio && audio ? measureGain(context, path, audio) : undefined;
