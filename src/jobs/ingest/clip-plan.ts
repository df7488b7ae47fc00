import type { ClipSource } from '../../media/plan/clip.js';
import type { Plan } from '../../media/plan/plan.js';
import type { AssetSettings } from '../../media/plan/plan-asset.js';
import type { SourceFacts } from '../../media/source/source-facts.js';
import { concatenatedIndexKey, indexKey } from '../../storage/keys.js';
import { planNormalized } from './measure-gain.js';
import { makeMezzanine } from './mezzanine.js';
import { type IndexDeps, readIndex } from './read-index.js';

export interface ClipInput {
  /** Of the asset under whose name the source is stored. */
  readonly owner: string;
  readonly path: string;
  readonly facts: SourceFacts;
  readonly settings: AssetSettings;
  readonly normalize: boolean;
  readonly clip: ClipSource;
}

/** A clip reads what the asset it is cut from has stored; its access to frames is known to be good. */
export const makeClipPlan = async (
  deps: IndexDeps & { readonly parallel: number },
  { owner, path, facts, settings, normalize, clip }: ClipInput,
  signal: AbortSignal,
): Promise<Plan> => {
  const key = clip.concatenated ? concatenatedIndexKey(owner) : indexKey(owner);
  const index = await readIndex(deps, key, path, facts, signal);
  const mezzanine =
    clip.mezzanineTier &&
    (await makeMezzanine(
      deps,
      { assetId: owner, path, facts, index, sequential: true, tier: clip.mezzanineTier },
      { signal, parallel: deps.parallel, onProgress: () => undefined },
    ));
  const { placeOverlays: placeOwn } = settings;
  const input = {
    facts,
    index,
    settings: {
      ...settings,
      placeOverlays: (frame: Parameters<NonNullable<typeof placeOwn>>[0]) => [
        ...clip.overlays,
        ...(placeOwn?.(frame) ?? []),
      ],
    },
    clip,
    ...(mezzanine && { mezzanine }),
  };
  const plan = await planNormalized(deps, input, { path, normalize, signal });
  return { ...plan, sourceOwner: owner, ...(clip.concatenated && { concatenated: true }) };
};
