import type { SourceFile } from '../../early/file/context.js';
import { checkSanity, findProblem, type Problem } from '../../early/file/find-problem.js';
import { measureBitrateScale } from '../../early/file/measure-bitrate-scale.js';
import { readIndex } from '../../early/file/read-index.js';
import { createLinkedAbort } from '../../lib/linked-abort.js';
import { decideAccess } from '../../media/plan/mezzanine-decision.js';
import type { Plan } from '../../media/plan/plan.js';
import { type DraftPlan, draftPlan, finishPlan } from '../../media/plan/plan-asset.js';
import { judgeInput } from '../../media/plan/standard-input.js';
import { isMpegStreamFormat } from '../../media/source/frames.js';
import type { SourceFacts } from '../../media/source/source-facts.js';
import type { SourceIndex } from '../../media/source/source-index.js';
import { needsWholeFile } from '../../packager/read-source.js';
import type { SanityResult } from '../../pool/protocol.js';
import { concatenatedIndexKey, concatenatedKey, indexKey } from '../../storage/keys.js';
import type { IngestContext } from './context.js';
import { withConcatenatedRecordings } from './file/concatenate.js';
import { describeInputFile } from './file/input-file.js';
import { measureAssetGain } from './measure-asset-gain.js';
import { transcode } from './transcode.js';

/** A plan and the facts about the file that it reads. */
export interface Planned {
  readonly plan: Plan;
  readonly facts: SourceFacts;
}

interface PlanOptions {
  /** A reason for a mezzanine that neither the index nor the sanity check showed. */
  readonly knownProblem?: Problem;
  /** Called with the plan that is used unless the sanity check, which still runs, finds a problem. */
  readonly onLikely?: (plan: Plan) => void;
}

interface CheckedOptions extends PlanOptions {
  /** The sanity check of the file that is planned, if it already runs. */
  readonly sanity?: Promise<SanityResult>;
}

/**
 * Indexes the stored source and plans the asset. If segments can't be made directly from the source, a mezzanine is
 * made first.
 */
export const planSource = async (
  context: IngestContext,
  file: SourceFile,
  options: PlanOptions = {},
): Promise<Planned> => {
  // The index of an MPEG stream decides which file is checked.
  if (options.knownProblem || isMpegStreamFormat(file.facts.formatName)) return planIndexed(context, file, options);
  using stop = createLinkedAbort(context.signal);
  const sanity = checkSanity({ ...context, signal: stop.signal }, file, file.facts);
  // If reading the index fails first, nobody waits for it.
  sanity.catch(() => undefined);
  try {
    return await planIndexed(context, file, { ...options, sanity });
  } finally {
    stop.abort();
  }
};

const planIndexed = async (context: IngestContext, file: SourceFile, options: CheckedOptions): Promise<Planned> => {
  const { assetId, state } = context;
  const { path, facts, settings } = file;
  const index = await readIndex(context, indexKey(assetId), file, facts);
  const reasons = judgeInput(facts, index, settings.maxResolutionTier);
  if (reasons) await state.saveReasons(assetId, reasons);
  const planAsItIs = async () => ({ plan: await planFile(context, file, index, options), facts });
  if (!index.discontinuous || !isMpegStreamFormat(facts.formatName)) return planAsItIs();
  const keys = { key: concatenatedKey(assetId), indexKey: concatenatedIndexKey(assetId) };
  return withConcatenatedRecordings(context, { path, facts, concatenated: keys }, async (copy) => {
    if (!copy) return planAsItIs();
    const { formatName, unplayable, otherVideo } = facts;
    const copyFacts = { ...copy.facts, ...(unplayable && { unplayable }), ...(otherVideo && { otherVideo }) };
    await state.saveFacts(assetId, copyFacts, describeInputFile({ ...copyFacts, formatName }));
    const copyFile = { path: copy.path, facts: copyFacts, settings };
    const { knownProblem } = options;
    const plan = await planFile(context, copyFile, copy.index, { ...(knownProblem && { knownProblem }) });
    return { plan: { ...plan, concatenated: true }, facts: copyFacts };
  });
};

/** Drafts the plan once for the frames that it reads, then applies the measurements of the file. */
const planFile = async (
  context: IngestContext,
  file: SourceFile,
  index: SourceIndex,
  { knownProblem, sanity, onLikely }: CheckedOptions,
): Promise<Plan> => {
  const { facts, settings } = file;
  const isDirect = !knownProblem && decideAccess(facts, index).access === 'direct';
  const direct = isDirect ? draftPlan({ facts, index, settings }) : undefined;
  const find = async () => findProblem(facts, index, await (sanity ?? checkSanity(context, file, facts)));
  const measure = async (draft: DraftPlan) => {
    const bitrateScale = await measureBitrateScale(context, file, draft, index.video);
    // Measuring the loudness takes longer than the sanity check.
    if (!context.row.asset.normalize_audio) onLikely?.(finishPlan(draft, { bitrateScale }));
    return bitrateScale;
  };
  const [problem, directScale] = await Promise.all([knownProblem ?? find(), direct && measure(direct)]);
  if (direct && !problem) return finish(context, file, direct, directScale);
  if (file.staged) throw needsWholeFile();
  const mezzanine = problem && (await transcode(context, file, index, problem));
  const draft = draftPlan({ facts, index, settings, ...(mezzanine && { mezzanine }) });
  return finish(context, file, draft, await measureBitrateScale(context, file, draft, mezzanine?.index));
};

const finish = async (
  context: IngestContext,
  { path }: SourceFile,
  draft: DraftPlan,
  bitrateScale: number | undefined,
): Promise<Plan> => finishPlan(draft, { bitrateScale, gain: await measureAssetGain(context, path, draft) });
