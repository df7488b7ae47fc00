import type { Transaction } from '../../db/database.js';
import { findClipSource, insertSourceUses, listSourceUses, saveClip } from '../../db/tables/assets/clip.js';
import { Problems } from '../../lib/problems.js';
import { type ClipSource, originOf } from '../../media/plan/clip.js';
import type { Plan } from '../../media/plan/plan.js';
import type { AssetRequest } from '../requests/asset-request.js';
import { assetIdOfUrl } from '../requests/inputs.js';

/** The asset that the request clips; undefined when it is not a clip. */
export const clippedAssetId = ({ inputs }: AssetRequest): string | undefined => assetIdOfUrl(inputs[0]!.url ?? '');

/**
 * Links a clip to the files of its source, which are kept even when the source is deleted.
 * @throws KinoraError `invalid_parameters` when the source has been deleted since the request was
 * checked
 */
export const attachClip = async (
  tx: Transaction,
  environmentId: string,
  clip: { readonly id: string; readonly sourceId: string },
  request: AssetRequest,
): Promise<void> => {
  const source = await findClipSource(tx, environmentId, clip.sourceId);
  if (!source?.plan || !source.facts) {
    const problems = new Problems(request.base);
    problems.add([request.inputsField, 0, 'url'], 'does not refer to an existing asset');
    problems.throwIfAny(request.body);
    return;
  }
  const plan = source.plan as Plan;
  const { start_time: startSeconds = 0, end_time: endSeconds } = request.inputs[0]!;
  const sourceOwner = source.source_owner ?? clip.sourceId;
  const cut: ClipSource = {
    startSeconds,
    endSeconds: Math.min(endSeconds ?? plan.durationSeconds, plan.durationSeconds),
    zero: originOf(plan),
    mezzanineTier: plan.video?.access === 'mezzanine' ? source.max_resolution_tier : undefined,
    concatenated: plan.concatenated ? true : undefined,
    overlays: request.copyOverlays ? (plan.video?.filters.overlays ?? []) : [],
  };
  await saveClip(tx, clip.id, { facts: source.facts, sourceOwner, clip: cut });
  const uses = new Set([clip.sourceId, sourceOwner, ...(await listSourceUses(tx, clip.sourceId))]);
  await insertSourceUses(tx, clip.id, [...uses]);
};
