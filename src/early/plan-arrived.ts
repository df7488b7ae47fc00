import { growingPlan } from '../media/plan/growing-plan.js';
import { hasLimitedRungs } from '../media/plan/ladder.js';
import { decideAccess } from '../media/plan/mezzanine-decision.js';
import { draftPlan, finishPlan } from '../media/plan/plan-asset.js';
import { arrivedPart } from '../media/source/arrived-part.js';
import { findConstantRate, isMatroskaFormat, listFrames } from '../media/source/frames.js';
import type { SourceFacts } from '../media/source/source-facts.js';
import type { SourceIndex } from '../media/source/source-index.js';
import { decodeSourceIndex } from '../media/source/source-index-codec.js';
import { BLOCK_BYTES, type LocalBlob } from '../storage/blob-store.js';
import { sourceKey } from '../storage/keys.js';
import { checkLimits, probeFile } from './file/probe-file.js';
import { makeIndex } from './file/read-index.js';
import type { PlanContext } from './planner.js';
import { readSettings } from './settings.js';
import type { EarlySource } from './sources.js';

export interface Arrived {
  readonly early: EarlySource;
  readonly facts: SourceFacts;
}

/**
 * Plans the first segments of a file from its first `receivedBytes` bytes, which are read as a file that ends there.
 * `known` are the facts from an earlier call. Undefined when too little has arrived; a reason when the rest of the file
 * may change the segments.
 */
export const planArrived = async (
  context: PlanContext,
  receivedBytes: number,
  known: SourceFacts | undefined,
): Promise<Arrived | string | undefined> => {
  const { assetId, blobs } = context;
  const arrived = [{ start: 0, end: receivedBytes - (receivedBytes % BLOCK_BYTES) }];
  // More arrives while they are read: no bytes after the staged ones may be used.
  const read = async <T>(use: (file: LocalBlob) => Promise<T>): Promise<T> => {
    const file = await blobs.openLocal(sourceKey(assetId), arrived);
    try {
      return await use(file);
    } finally {
      await file.release();
    }
  };
  const facts = known ?? (await read((file) => probeFile(context, file, { fresh: true, isPrefix: true })));
  checkLimits(facts);
  const whole = decodeSourceIndex(await read((file) => makeIndex(context, file, facts, true)));
  const index = arrivedPart(whole, facts);
  if (!index) return undefined;
  const decision = decideAccess(facts, index);
  if (decision.access !== 'direct') return `the video is transcoded first: ${decision.reason}`;
  if (hasVariableRate(facts, index)) return 'the average frame rate of the video is known at its end';
  const settings = readSettings(context, []);
  const plan = growingPlan(finishPlan(draftPlan({ facts, index, settings }), {}));
  if (plan?.video && hasLimitedRungs(plan.video.renditions, settings.quality))
    return 'the bitrate of the copied video, which limits the rungs below it, is known at its end';
  return plan && { facts, early: { plan, index, arrived } };
};

/** In MPEG-TS, the stream declares its rate. */
const hasVariableRate = ({ formatName, video }: SourceFacts, index: SourceIndex): boolean =>
  video !== undefined &&
  index.video !== undefined &&
  isMatroskaFormat(formatName) &&
  !findConstantRate(listFrames(index.video, formatName), video.timeBase);
