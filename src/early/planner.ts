// Answers what the plan is: of a whole file, of ranges of a file, or of the beginning of one that
// grows.

import type { ByteRanges } from '../lib/byte-ranges.js';
import type { ClipRange, MezzanineVideo } from '../media/plan/find-start.js';
import { growingPlan } from '../media/plan/growing-plan.js';
import { hasLimitedRungs } from '../media/plan/ladder.js';
import { decideAccess } from '../media/plan/mezzanine-decision.js';
import type { Gain, Plan } from '../media/plan/plan.js';
import { type AssetSettings, type DraftPlan, draftPlan, finishPlan } from '../media/plan/plan-asset.js';
import { makesSameFiles } from '../media/plan/same-files.js';
import { longestSegmentSeconds } from '../media/plan/segment-times.js';
import { arrivedPart } from '../media/source/arrived-part.js';
import { findConstantRate, isMatroskaFormat, isMovFormat, listFrames } from '../media/source/frames.js';
import { rejections } from '../media/source/rejections.js';
import type { SourceFacts } from '../media/source/source-facts.js';
import type { SourceIndex, StreamIndex } from '../media/source/source-index.js';
import { decodeSourceIndex } from '../media/source/source-index-codec.js';
import { NOT_INDEXED } from '../packager/find-opening.js';
import { needsWholeFile, readSource } from '../packager/read-source.js';
import type { SanityResult } from '../pool/protocol.js';
import { BLOCK_BYTES, type LocalBlob, type RangeSource } from '../storage/blob-store.js';
import { sourceKey } from '../storage/keys.js';
import type { Logger } from '../telemetry/logger.js';
import type { FileContext, SourceFile } from './file/context.js';
import { checkSanity, findProblem, type Problem } from './file/find-problem.js';
import { confirmGuess, type GuessedIndex, guessIndex } from './file/guess-index.js';
import { measureBitrateScale } from './file/measure-bitrate-scale.js';
import { checkDuration, checkLimits, probeFile, reject } from './file/probe-file.js';
import { makeIndex, predictIndexes } from './file/read-index.js';
import { openingRanges } from './ranges.js';
import { readSettings, type SettingsContext, type StoredOverlay } from './settings.js';
import type { EarlySource } from './sources.js';

export interface PlanContext extends FileContext, SettingsContext {
  readonly logger: Logger;
}

/** What only a whole file allows. */
export interface WholeFileWork {
  /** A reason for a mezzanine that neither the index nor the sanity check showed. */
  readonly knownProblem?: Problem | undefined;
  /** The sanity check of this file, if it already runs. */
  readonly sanity?: Promise<SanityResult> | undefined;
  /**
   * Called with the plan that is used unless the sanity check, which still runs, finds a problem.
   */
  readonly onLikely?: ((plan: Plan) => void) | undefined;
  /** What is shown of the file; all of it by default. */
  readonly clip?: ClipRange | undefined;
  readonly measureGain: (draft: DraftPlan) => Promise<Gain | undefined>;
  readonly transcode: (problem: Problem) => Promise<MezzanineVideo>;
}

/** A plan of the beginning of a file, and the facts for the next one. */
export interface GrownPlan {
  readonly early: EarlySource;
  readonly facts: SourceFacts;
}

type ReadFile = <T>(use: (file: LocalBlob) => Promise<T>) => Promise<T>;

const NOTHING_YET = { ranges: [], isStored: false };

/**
 * Plans an asset. Each plan takes the same six steps, as far as the file allows: probe, check the
 * limits, index, decide how frames are read, draft, and finish with what is measured.
 */
export class Planner {
  constructor(private readonly context: PlanContext) {}

  /**
   * The plan of a stored file whose facts and index are known. The frames are transcoded first if
   * they have to be.
   */
  async whole(file: SourceFile, index: SourceIndex, task: WholeFileWork): Promise<Plan> {
    const { facts, settings } = file;
    const isDirect = !task.knownProblem && whyTranscoded(facts, index) === undefined;
    const direct = isDirect ? draftPlan({ facts, index, settings, clip: task.clip }) : undefined;
    const [problem, scale] = await Promise.all([
      task.knownProblem ?? this.findProblem(file, index, task.sanity),
      direct && this.measureScale(file, direct, index.video, task.onLikely),
    ]);
    if (direct && !problem) return finishPlan(direct, { bitrateScale: scale, gain: await task.measureGain(direct) });
    if (file.staged) throw needsWholeFile();
    const mezzanine = problem && (await task.transcode(problem));
    const draft = draftPlan({ facts, index, settings, clip: task.clip, mezzanine });
    const bitrateScale = await this.measureScale(file, draft, mezzanine?.index);
    return finishPlan(draft, { bitrateScale, gain: await task.measureGain(draft) });
  }

  /**
   * The plan of a file of which ranges can be read; `isPrefix` when only its start can be. A reason
   * when locating the frames requires the whole file, or when the frames are transcoded first.
   */
  async ranges(
    source: RangeSource,
    overlays: readonly StoredOverlay[],
    isPrefix = false,
  ): Promise<EarlySource | string> {
    const { assetId, blobs } = this.context;
    const opening = await openingRanges(this.context, source.sizeBytes, isPrefix);
    if (typeof opening === 'string') return opening;
    source.keepOpening(opening);
    const open = (needed: ByteRanges | undefined) => blobs.openLocal(sourceKey(assetId), needed);
    const read: ReadFile = (use) => readSource(open, NOTHING_YET, use);

    const guess = isPrefix ? undefined : await read((file) => guessIndex(this.context, file));
    const inspected = { ranges: guess?.inspected ?? [], isStored: false };
    const facts = await this.probe(
      (use) =>
        readSource(open, inspected, (file) => {
          fetchAhead(open, guess);
          return use(file);
        }),
      isPrefix,
    );
    const settings = readSettings(this.context, facts.video ? overlays : []);
    const indexes = await this.possibleIndexes(read, facts, settings, guess);
    if (typeof indexes === 'string') return indexes;
    const plans: Plan[] = [];
    for (const index of indexes) {
      const reason = whyTranscoded(facts, index);
      if (reason !== undefined) return reason;
      const draft = draftPlan({ facts, index, settings });
      const bitrateScale = await read((file) => this.measureScale({ ...file, facts, settings }, draft, index.video));
      plans.push(finishPlan(draft, { bitrateScale }));
    }
    const [plan, another = plan] = plans as [Plan, Plan?];
    if (!makesSameFiles(plan, another)) return 'Matroska: the segments depend on the sizes or times of all frames';
    checkPlan(plan);
    return {
      plan,
      index: indexes[0],
      videoTimeBase: facts.video?.timeBase,
      audioTimeBase: facts.audio[0]?.timeBase,
    };
  }

  /**
   * The plan of the first segments of a file, from its first `receivedBytes` bytes, which are read
   * as a file that ends there. `known` are the facts from an earlier call. Undefined when too
   * little has arrived; a reason when the rest of the file may change the segments.
   */
  async prefix(receivedBytes: number, knownFacts: SourceFacts | undefined): Promise<GrownPlan | string | undefined> {
    const { assetId, blobs } = this.context;
    const arrived = [{ start: 0, end: receivedBytes - (receivedBytes % BLOCK_BYTES) }];
    // More arrives while they are read: no bytes after the staged ones may be used.
    const read: ReadFile = async (use) => {
      const file = await blobs.openLocal(sourceKey(assetId), arrived);
      try {
        return await use(file);
      } finally {
        await file.release();
      }
    };
    const facts = knownFacts ?? (await this.probe(read, true));
    const index = arrivedPart(await this.index(read, facts, true), facts);
    if (!index) return undefined;
    const reason = whyTranscoded(facts, index);
    if (reason !== undefined) return reason;
    if (hasVariableRate(facts, index)) return 'the average frame rate of the video is known at its end';
    const settings = readSettings(this.context, []);
    const plan = growingPlan(finishPlan(draftPlan({ facts, index, settings }), {}));
    if (plan?.video && hasLimitedRungs(plan.video.renditions, settings.quality))
      return 'the bitrate of the copied video, which limits the rungs below it, is known at its end';
    return plan && { facts, early: { plan, index, arrived } };
  }

  private async probe(read: ReadFile, isPrefix: boolean): Promise<SourceFacts> {
    const facts = await read((file) => probeFile(this.context, file, { fresh: true, isPrefix }));
    checkLimits(facts);
    return facts;
  }

  private async index(read: ReadFile, facts: SourceFacts, isPrefix = false): Promise<SourceIndex> {
    return decodeSourceIndex(await read((file) => makeIndex(this.context, file, facts, isPrefix)));
  }

  /** For Matroska, whose frames are predicted: the index that is used and its opposite. */
  private async possibleIndexes(
    read: ReadFile,
    facts: SourceFacts,
    { quality }: AssetSettings,
    guess: GuessedIndex | undefined,
  ): Promise<readonly [SourceIndex, ...SourceIndex[]] | string> {
    if (isMovFormat(facts.formatName)) return [confirmGuess(guess, facts)?.index ?? (await this.index(read, facts))];
    if (!isMatroskaFormat(facts.formatName)) return NOT_INDEXED;
    if (quality === 'plus') return 'Matroska: quality plus depends on the sizes of all frames';
    const indexes = await read((file) => predictIndexes(this.context, file, facts));
    return typeof indexes === 'string' ? `Matroska: ${indexes}` : [indexes[1], indexes[0]];
  }

  private async findProblem(
    file: SourceFile,
    index: SourceIndex,
    sanity: Promise<SanityResult> | undefined,
  ): Promise<Problem | undefined> {
    return findProblem(file.facts, index, await (sanity ?? checkSanity(this.context, file, file.facts)));
  }

  private async measureScale(
    file: SourceFile,
    draft: DraftPlan,
    index: StreamIndex | undefined,
    onLikely?: (plan: Plan) => void,
  ): Promise<number | undefined> {
    const bitrateScale = await measureBitrateScale(this.context, file, draft, index);
    onLikely?.(finishPlan(draft, { bitrateScale }));
    return bitrateScale;
  }
}

/**
 * Fetches what a player requests first while the file is probed. Whoever needs it and does not find
 * it fetches it again.
 */
const fetchAhead = (open: (needed: ByteRanges) => Promise<LocalBlob>, guess: GuessedIndex | undefined): void => {
  if (!guess) return;
  open(guess.first)
    .then((file) => file.release())
    .catch(() => undefined);
};

/** Why segments can't be made directly from the source, by its index. */
const whyTranscoded = (facts: SourceFacts, index: SourceIndex): string | undefined => {
  const decision = decideAccess(facts, index);
  return decision.access === 'direct' ? undefined : `the video is transcoded first: ${decision.reason}`;
};

/** In MPEG-TS, the stream declares its rate. */
const hasVariableRate = ({ formatName, video }: SourceFacts, index: SourceIndex): boolean =>
  video !== undefined &&
  index.video !== undefined &&
  isMatroskaFormat(formatName) &&
  !findConstantRate(listFrames(index.video, formatName), video.timeBase);

/**
 * A frame can't be displayed longer than this: the audio for it is made in memory (about 1 MB per
 * second), and such long pauses have only been seen in files with a damaged index.
 */
const MAX_SEGMENT_SECONDS = 300;

/** @throws KinoraError `invalid_input` for assets that can't be played, or not by this server */
export const checkPlan = (plan: Plan): void => {
  if (plan.durationSeconds <= 0) reject('The input file does not contain any playable duration.');
  checkDuration(plan.durationSeconds);
  if (plan.video && longestSegmentSeconds(plan.video) > MAX_SEGMENT_SECONDS)
    reject(rejections.damagedBy('the timestamps of its video leave gaps that are too long'));
};
