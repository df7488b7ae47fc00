import type { SourceFile } from '../../early/file/context.js';
import { checkSanity } from '../../early/file/find-problem.js';
import { confirmGuess } from '../../early/file/guess-index.js';
import { readIndex } from '../../early/file/read-index.js';
import { checkPlan, Planner, type WholeFileWork } from '../../early/planner.js';
import { createLinkedAbort } from '../../lib/linked-abort.js';
import type { ClipSource } from '../../media/plan/clip.js';
import type { Gain, Plan } from '../../media/plan/plan.js';
import { type AssetSettings, type DraftPlan, draftPlan, finishPlan } from '../../media/plan/plan-asset.js';
import { evaluateInput } from '../../media/plan/standard-input.js';
import { isMpegStreamFormat } from '../../media/source/frames.js';
import type { SourceFacts } from '../../media/source/source-facts.js';
import type { SourceIndex } from '../../media/source/source-index.js';
import { needsWholeFile } from '../../packager/read-source.js';
import { concatenatedIndexKey, concatenatedKey, indexKey } from '../../storage/keys.js';
import type { IngestContext, PrepareContext } from './context.js';
import { withConcatenatedRecordings } from './file/concatenate.js';
import { describeInputFile } from './file/input-file.js';
import { measureGain } from './file/measure-gain.js';
import { makeMezzanine, transcode } from './mezzanine.js';

/** A plan and the facts about the file that it reads. */
export interface Planned {
  readonly plan: Plan;
  readonly facts: SourceFacts;
}

type PlanOptions = Pick<WholeFileWork, 'knownProblem' | 'onLikely'>;
type CheckedOptions = PlanOptions & Pick<WholeFileWork, 'sanity'>;

/** The clip whose file is its own. */
export const ownClipOf = ({ media }: IngestContext['row']): ClipSource | undefined => {
  const clip = media.clip as ClipSource | null;
  return clip?.own ? clip : undefined;
};

/**
 * Indexes the stored source and plans the asset. If segments can't be made directly from the
 * source, a mezzanine is made first.
 */
export const planSource = async (
  context: PrepareContext,
  file: SourceFile,
  options: PlanOptions = {},
): Promise<Planned> => {
  // The index of an MPEG stream decides which file is checked.
  if (options.knownProblem || isMpegStreamFormat(file.facts.formatName)) return decideFromIndex(context, file, options);
  using stop = createLinkedAbort(context.signal);
  const sanity = checkSanity({ ...context, signal: stop.signal }, file, file.facts);
  // If reading the index fails first, nobody waits for it.
  sanity.catch(() => undefined);
  try {
    return await decideFromIndex(context, file, { ...options, sanity });
  } finally {
    stop.abort();
  }
};

/**
 * Reads the index, which shows whether recordings are joined first, and has the planner decide the
 * rest.
 */
const decideFromIndex = async (
  context: PrepareContext,
  file: SourceFile,
  options: CheckedOptions,
): Promise<Planned> => {
  const { assetId, guess, state, writes } = context;
  const { path, facts, settings } = file;
  const guessed = confirmGuess(await guess, facts);
  const index = await readIndex(context, indexKey(assetId), file, facts, { guessed, writes });
  const reasons = evaluateInput(facts, index, settings.maxResolutionTier);
  if (reasons) writes.add(state.saveReasons(assetId, reasons));
  const planner = new Planner(context);
  const planAsItIs = async () => ({
    plan: await planner.whole(file, index, wholeFileWork(context, file, index, options)),
    facts,
  });
  if (!index.discontinuous || !isMpegStreamFormat(facts.formatName)) return planAsItIs();
  const keys = { key: concatenatedKey(assetId), indexKey: concatenatedIndexKey(assetId) };
  return withConcatenatedRecordings(context, { path, facts, concatenated: keys }, async (copy) => {
    if (!copy) return planAsItIs();
    const { formatName, unplayable, otherVideo } = facts;
    const copyFacts = { ...copy.facts, ...(unplayable && { unplayable }), ...(otherVideo && { otherVideo }) };
    // In place of those of the file itself.
    await writes.done();
    await state.saveFacts(assetId, copyFacts, describeInputFile({ ...copyFacts, formatName }));
    const copyFile = { path: copy.path, facts: copyFacts, settings };
    const work = wholeFileWork(context, copyFile, copy.index, { knownProblem: options.knownProblem });
    const plan = await planner.whole(copyFile, copy.index, work);
    return { plan: { ...plan, concatenated: true }, facts: copyFacts };
  });
};

/** What the planner may ask for, because the whole file is stored. */
const wholeFileWork = (
  context: IngestContext,
  file: SourceFile,
  index: SourceIndex,
  { knownProblem, sanity, onLikely }: CheckedOptions,
): WholeFileWork => ({
  knownProblem,
  sanity,
  clip: ownClipOf(context.row),
  // Measuring the loudness takes longer than the sanity check.
  onLikely: context.row.asset.normalize_audio ? undefined : onLikely,
  measureGain: (draft) => measureAssetGain(context, file.path, draft),
  transcode: (problem) => transcode(context, file, index, problem),
});

/**
 * The gain for the asset's part of the audio; undefined unless `normalize_audio` is set and a gain
 * is needed.
 */
const measureAssetGain = async (
  context: IngestContext,
  path: string,
  { plan: { audio } }: DraftPlan,
): Promise<Gain | undefined> =>
  context.row.asset.normalize_audio && audio ? measureGain(context, path, audio) : undefined;

/** A clip reads what its source asset has stored, whose frames are known to be readable. */
export const planClip = async (context: IngestContext, file: SourceFile, clip: ClipSource): Promise<Planned> => {
  const { path, facts } = file;
  /** The asset that owns the stored source. */
  const owner = context.row.media.source_owner ?? context.assetId;
  const key = clip.concatenated ? concatenatedIndexKey(owner) : indexKey(owner);
  const index = await readIndex(context, key, file, facts);
  if (clip.mezzanineTier && file.staged) throw needsWholeFile();
  const mezzanine =
    clip.mezzanineTier &&
    (await makeMezzanine(context, {
      assetId: owner,
      path,
      facts,
      index,
      sequential: true,
      tier: clip.mezzanineTier,
      onProgress: () => undefined,
    }));
  const settings = withOverlaysBelow(file.settings, clip.overlays);
  const draft = draftPlan({ facts, index, settings, clip, mezzanine });
  const plan = finishPlan(draft, { gain: await measureAssetGain(context, path, draft) });
  return { plan: { ...plan, sourceOwner: owner, ...(clip.concatenated && { concatenated: true }) }, facts };
};

const withOverlaysBelow = (settings: AssetSettings, overlays: ClipSource['overlays']): AssetSettings => ({
  ...settings,
  placeOverlays: (frame) => [...overlays, ...(settings.placeOverlays?.(frame) ?? [])],
});

/** @throws KinoraError as `checkPlan` */
export const savePlan = async ({ assetId, state, logger, writes }: PrepareContext, plan: Plan): Promise<void> => {
  checkPlan(plan);
  // A run after a restart that finds a plan expects the rest.
  await writes.done();
  await state.savePlan(assetId, plan);
  const { access, renditions, copyDecision: copy_decision } = plan.video ?? {};
  const names = renditions?.map(({ name, kind }) => `${name} ${kind}`);
  logger.info({ access, renditions: names, copy_decision }, 'asset planned');
};
