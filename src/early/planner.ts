import { decideAccess } from '../media/plan/mezzanine-decision.js';
import type { Plan } from '../media/plan/plan.js';
import { type AssetSettings, draftPlan, finishPlan } from '../media/plan/plan-asset.js';
import { makesSameFiles } from '../media/plan/same-files.js';
import { isMatroskaFormat, isMovFormat } from '../media/source/frames.js';
import type { SourceFacts } from '../media/source/source-facts.js';
import type { SourceIndex } from '../media/source/source-index.js';
import { decodeSourceIndex } from '../media/source/source-index-codec.js';
import { NOT_INDEXED } from '../packager/find-opening.js';
import { readSource } from '../packager/read-source.js';
import type { LocalBlob, RangeSource } from '../storage/blob-store.js';
import { sourceKey } from '../storage/keys.js';
import type { Logger } from '../telemetry/logger.js';
import { checkPlan } from './check-plan.js';
import type { FileContext } from './file/context.js';
import { measureBitrateScale } from './file/measure-bitrate-scale.js';
import { checkLimits, probeFile } from './file/probe-file.js';
import { makeIndex, predictIndexes } from './file/read-index.js';
import { openingRanges } from './ranges.js';
import { readSettings, type SettingsContext, type StoredOverlay } from './settings.js';
import type { EarlySource } from './sources.js';

const NOTHING_YET = { ranges: [], isStored: false };

export interface PlanContext extends FileContext, SettingsContext {
  readonly logger: Logger;
}

/**
 * Plans an asset from parts of its source; `isPrefix` when only its start can be read. A reason when locating the frames
 * requires the whole file, or when the source needs a mezzanine.
 */
export const planEarly = async (
  context: PlanContext,
  source: RangeSource,
  overlays: readonly StoredOverlay[],
  isPrefix = false,
): Promise<EarlySource | string> => {
  const { assetId, blobs } = context;
  const opening = await openingRanges(context, source.sizeBytes, isPrefix);
  if (typeof opening === 'string') return opening;
  source.keepOpening(opening);
  const read: ReadFile = (use) => readSource((needed) => blobs.openLocal(sourceKey(assetId), needed), NOTHING_YET, use);

  const facts = await read((file) => probeFile(context, file, { fresh: true, isPrefix }));
  checkLimits(facts);
  const settings = readSettings(context, facts.video ? overlays : []);
  const indexes = await readIndexes(context, read, facts, settings);
  if (typeof indexes === 'string') return indexes;
  const plans: Plan[] = [];
  for (const index of indexes) {
    const decision = decideAccess(facts, index);
    if (decision.access !== 'direct') return `the video is transcoded first: ${decision.reason}`;
    const draft = draftPlan({ facts, index, settings });
    const bitrateScale = await read((file) =>
      measureBitrateScale(context, { ...file, facts, settings }, draft, index.video),
    );
    plans.push(finishPlan(draft, { bitrateScale }));
  }
  const [plan, another = plan] = plans as [Plan, Plan?];
  if (!makesSameFiles(plan, another)) return 'Matroska: the segments depend on the sizes or times of all frames';
  checkPlan(plan);
  return {
    plan,
    index: indexes[0],
    ...(facts.video && { videoTimeBase: facts.video.timeBase }),
    ...(facts.audio[0] && { audioTimeBase: facts.audio[0].timeBase }),
  };
};

type ReadFile = <T>(use: (file: LocalBlob) => Promise<T>) => Promise<T>;

/** All indexes that the file may have: for Matroska, whose frames are predicted, the one that is used and its opposite. */
const readIndexes = async (
  context: PlanContext,
  read: ReadFile,
  facts: SourceFacts,
  { quality }: AssetSettings,
): Promise<readonly [SourceIndex, ...SourceIndex[]] | string> => {
  if (isMovFormat(facts.formatName)) return [decodeSourceIndex(await read((file) => makeIndex(context, file, facts)))];
  if (!isMatroskaFormat(facts.formatName)) return NOT_INDEXED;
  if (quality === 'plus') return 'Matroska: quality plus depends on the sizes of all frames';
  const indexes = await read((file) => predictIndexes(context, file, facts));
  return typeof indexes === 'string' ? `Matroska: ${indexes}` : [indexes[1], indexes[0]];
};
