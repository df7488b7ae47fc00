import { open } from 'node:fs/promises';
import { findMoovRange, type ReadRange } from '../../media/mp4/sample-tables.js';
import { decideAccess } from '../../media/plan/mezzanine-decision.js';
import { draftPlan, finishPlan } from '../../media/plan/plan-asset.js';
import { isMovFormat } from '../../media/source/frames.js';
import { decodeSourceIndex } from '../../media/source/source-index-codec.js';
import type { EarlySource } from '../../packager/early-sources.js';
import { readSource } from '../../packager/read-source.js';
import type { LocalBlob, RangeSource } from '../../storage/blob-store.js';
import { sourceKey } from '../../storage/keys.js';
import type { IngestContext } from './context.js';
import { checkLimits, probeFile } from './file/probe-file.js';
import { makeIndex } from './file/read-index.js';
import { measureBitrateScale } from './measure-bitrate-scale.js';
import { readSettings, type SettingsContext } from './read-settings.js';
import { checkPlan } from './save-plan.js';
import type { StoredOverlay } from './store-overlays.js';

/** More than the index of a twelve-hour file. */
const MAX_MOOV_BYTES = 64 * 2 ** 20;
/** Bytes at the start of a file that are read in addition to its index. */
const HEAD_BYTES = 64 * 1024;

type PlanContext = Pick<IngestContext, 'assetId' | 'blobs' | 'pool' | 'temporaryDir' | 'signal' | 'logger'> &
  SettingsContext;

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
  const moov = await findMoovRange(rangeReader(context), source.sizeBytes);
  if (!moov) return 'the file is not an MP4 or MOV';
  if (moov.end - moov.start > MAX_MOOV_BYTES) return 'the index of the file is too large';
  source.keepOpening([{ start: 0, end: HEAD_BYTES }, moov]);
  const read = <T>(use: (file: LocalBlob) => Promise<T>): Promise<T> =>
    readSource((needed) => blobs.openLocal(sourceKey(assetId), needed), [], use);

  const facts = await read((file) => probeFile(context, file, { fresh: true, isPrefix }));
  checkLimits(facts);
  if (!isMovFormat(facts.formatName)) return 'the file is not an MP4 or MOV';
  const index = decodeSourceIndex(await read((file) => makeIndex(context, file, facts)));
  const decision = decideAccess(facts, index);
  if (decision.access !== 'direct') return `the video is transcoded first: ${decision.reason}`;
  const settings = readSettings(context, facts.video ? overlays : []);
  const draft = draftPlan({ facts, index, settings });
  const bitrateScale = await read((file) =>
    measureBitrateScale(context, { ...file, facts, settings }, draft, index.video),
  );
  const plan = finishPlan(draft, { bitrateScale });
  checkPlan(plan);
  return {
    plan,
    index,
    ...(facts.video && { videoTimeBase: facts.video.timeBase }),
    ...(facts.audio[0] && { audioTimeBase: facts.audio[0].timeBase }),
  };
};

/** Reads small ranges, such as box headers. */
const rangeReader =
  ({ assetId, blobs }: PlanContext): ReadRange =>
  async (offset, length) => {
    const blob = await blobs.openLocal(sourceKey(assetId), [{ start: offset, end: offset + length }]);
    try {
      const file = await open(blob.path);
      try {
        const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
        return buffer.subarray(0, bytesRead);
      } finally {
        await file.close();
      }
    } finally {
      await blob.release();
    }
  };
