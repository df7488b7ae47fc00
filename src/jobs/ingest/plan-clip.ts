import type { SourceFile } from '../../early/file/context.js';
import { readIndex } from '../../early/file/read-index.js';
import type { ClipSource } from '../../media/plan/clip.js';
import { type AssetSettings, draftPlan, finishPlan } from '../../media/plan/plan-asset.js';
import { needsWholeFile } from '../../packager/read-source.js';
import { concatenatedIndexKey, indexKey } from '../../storage/keys.js';
import type { IngestContext } from './context.js';
import { makeMezzanine } from './make-mezzanine.js';
import { measureAssetGain } from './measure-asset-gain.js';
import type { Planned } from './plan-source.js';

/** A clip reads what its source asset has stored, whose frames are known to be readable. */
export const planClip = async (context: IngestContext, file: SourceFile, clip: ClipSource): Promise<Planned> => {
  const { path, facts } = file;
  /** The asset that owns the stored source. */
  const owner = context.row.media.source_owner ?? context.assetId;
  const index = await readIndex(
    context,
    clip.concatenated ? concatenatedIndexKey(owner) : indexKey(owner),
    file,
    facts,
  );
  if (clip.mezzanineTier && file.staged) throw needsWholeFile();
  const mezzanine =
    clip.mezzanineTier &&
    (await makeMezzanine(context, {
      ...{ assetId: owner, path, facts, index, sequential: true, tier: clip.mezzanineTier },
      onProgress: () => undefined,
    }));
  const settings = withOverlaysBelow(file.settings, clip.overlays);
  const draft = draftPlan({ facts, index, settings, clip, ...(mezzanine && { mezzanine }) });
  const plan = finishPlan(draft, { gain: await measureAssetGain(context, path, draft) });
  return { plan: { ...plan, sourceOwner: owner, ...(clip.concatenated && { concatenated: true }) }, facts };
};

const withOverlaysBelow = (settings: AssetSettings, overlays: ClipSource['overlays']): AssetSettings => ({
  ...settings,
  placeOverlays: (frame) => [...overlays, ...(settings.placeOverlays?.(frame) ?? [])],
});
