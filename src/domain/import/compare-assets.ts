import { isDeepStrictEqual } from 'node:util';
import type { ImportPlan } from './plan-import.js';
import type { SourceAsset } from './source-asset.js';

/** Files are cut at frames and audio packets, whose edges may differ between two encodings. */
const DURATION_TOLERANCE_SECONDS = 0.5;

/**
 * What differs between an asset and what was planned for it, one sentence each. `imported` is the
 * asset here, as the API shows it.
 */
export const compareAssets = (source: SourceAsset, plan: ImportPlan, imported: SourceAsset): string[] => {
  const differences: string[] = [];
  const { settings } = plan;
  const expected: Readonly<Record<string, unknown>> = {
    created_at: String(source.created_at),
    passthrough: settings.passthrough ?? undefined,
    meta: settings.meta ?? undefined,
    video_quality: settings.video_quality,
    max_resolution_tier: settings.max_resolution_tier,
    normalize_audio: settings.normalize_audio,
  };
  for (const [field, value] of Object.entries(expected)) {
    const here = imported[field as keyof SourceAsset];
    if (!isDeepStrictEqual(here, value)) differences.push(`${field} differs: ${JSON.stringify(here)} here.`);
  }
  const lengths = [source.duration ?? 0, imported.duration ?? 0] as const;
  if (Math.abs(lengths[0] - lengths[1]) > DURATION_TOLERANCE_SECONDS)
    differences.push(`It lasts ${lengths[1]} s here and ${lengths[0]} s at the source.`);
  const here = new Set([...(imported.tracks ?? []), ...(imported.playback_ids ?? [])].map(({ id }) => id));
  for (const [kind, id] of Object.entries(plan.mainTracks))
    if (!here.has(id)) differences.push(`The ${kind} track ${id} is missing: the file of the source has no ${kind}.`);
  for (const { id } of plan.playbackIds) if (!here.has(id)) differences.push(`The playback ID ${id} is missing here.`);
  return differences;
};
