import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { isKinoraError } from '../../lib/errors.js';
import { findMoovRange, type ReadRange } from '../../media/mp4/sample-tables.js';
import { decideAccess } from '../../media/plan/mezzanine-decision.js';
import type { Plan } from '../../media/plan/plan.js';
import { draftPlan, finishPlan } from '../../media/plan/plan-asset.js';
import { isMovFormat } from '../../media/source/frames.js';
import { decodeSourceIndex } from '../../media/source/source-index-codec.js';
import type { RemoteFile } from '../../net/fetch-source.js';
import type { EarlySource } from '../../packager/early-sources.js';
import { readSource } from '../../packager/read-source.js';
import { mediaPriority } from '../../pool/media-pool.js';
import type { BlobWrite, LocalBlob, RangeSource } from '../../storage/blob-store.js';
import { sourceKey } from '../../storage/keys.js';
import type { IngestContext } from './context.js';
import { checkLimits, probeFile } from './file/probe-file.js';
import { makeIndex } from './file/read-index.js';
import { measureBitrateScale } from './measure-bitrate-scale.js';
import { readSettings } from './read-settings.js';
import { checkPlan } from './save-plan.js';
import type { StoredOverlay } from './store-overlays.js';

/** An asset that plays while its source is still being stored. */
export interface EarlyPlay {
  /** The write target for the download. */
  readonly target: BlobWrite;
  readonly plan: Plan;
  /** Which version of the file is played. */
  readonly validator: string;
  /** Stops early playback and removes what was produced, because the source or the plan has changed. */
  withdraw(): Promise<void>;
}

/** More than the index of a twelve-hour file. */
const MAX_MOOV_BYTES = 64 * 2 ** 20;
/**
 * For files of this size or more, the download of the rest waits until the first segments are made, so that these get
 * the full bandwidth.
 */
const LARGE_BYTES = 256 * 2 ** 20;
const MAX_WAIT_MS = 10_000;
/** Bytes at the start of a file that are read in addition to its index. */
const HEAD_BYTES = 64 * 1024;

/**
 * Plans the asset from the headers and the index of its source, then lets it play. Parts that viewers request are
 * fetched before the rest. The plan is not stored: it is made again from the stored file before the asset is ready.
 * Undefined when the file can't be played this way. It is then stored first, and any errors in it are reported after
 * that.
 */
export const playEarly = async (
  context: IngestContext,
  remote: RemoteFile,
  target: BlobWrite,
  overlays: Promise<readonly StoredOverlay[]>,
): Promise<EarlyPlay | undefined> => {
  const { assetId, blobs, earlySources, segments, logger, producer, signal, clock } = context;
  const startedMs = clock.monotonicMs();
  let ended = false;
  const withdraw = async (): Promise<void> => {
    if (ended) return;
    ended = true;
    earlySources.withdraw(assetId);
    await source.close();
    await segments.removeAsset(assetId);
  };
  const source = await blobs.openRanges(
    sourceKey(assetId),
    target,
    watchChanges(remote, () => void withdraw()),
  );
  try {
    const early = await planEarly(context, source, await overlays);
    if (early && !ended) {
      earlySources.publish(assetId, early);
      const { fetchedBytes } = source;
      const elapsedMs = Math.round(clock.monotonicMs() - startedMs);
      logger.info({ elapsed_ms: elapsedMs, fetched_bytes: fetchedBytes }, 'asset plays early');
      const warm = producer.warm({ id: assetId, plan: early.plan }, { signal, priority: mediaPriority.warmUp });
      const warmed = warm.catch((error: unknown) => {
        if (signal.aborted || ended) return;
        logger.info({ err: error }, 'early playback failed');
        return withdraw();
      });
      if (remote.sizeBytes >= LARGE_BYTES) await Promise.race([warmed, sleep(MAX_WAIT_MS, undefined, { ref: false })]);
      return { target: source.target, plan: early.plan, validator: remote.validator, withdraw };
    }
  } catch (error) {
    if (signal.aborted || !isKinoraError(error)) {
      await source.close();
      throw error;
    }
    logger.info({ err: error }, 'source not readable by ranges');
  }
  await withdraw();
  return undefined;
};

/** Calls `onChanged` when the remote file has changed. */
const watchChanges = (remote: RemoteFile, onChanged: () => void): RemoteFile => ({
  ...remote,
  read: async function* (range, signal) {
    try {
      yield* remote.read(range, signal);
    } catch (error) {
      if (isKinoraError(error, 'source_changed')) onChanged();
      throw error;
    }
  },
});

/** Undefined when locating the frames requires the whole file, or when the source needs a mezzanine. */
const planEarly = async (
  context: IngestContext,
  source: RangeSource,
  overlays: readonly StoredOverlay[],
): Promise<EarlySource | undefined> => {
  const { assetId, blobs } = context;
  const moov = await findMoovRange(rangeReader(context), source.sizeBytes);
  if (!moov || moov.end - moov.start > MAX_MOOV_BYTES) return undefined;
  source.keepOpening([{ start: 0, end: HEAD_BYTES }, moov]);
  const read = <T>(use: (file: LocalBlob) => Promise<T>): Promise<T> =>
    readSource((needed) => blobs.openLocal(sourceKey(assetId), needed), [], use);

  const facts = await read((file) => probeFile(context, file, { fresh: true }));
  checkLimits(facts);
  if (!isMovFormat(facts.formatName)) return undefined;
  const index = decodeSourceIndex(await read((file) => makeIndex(context, file, facts)));
  if (facts.video && decideAccess(facts, index).access !== 'direct') return undefined;
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
  ({ assetId, blobs }: IngestContext): ReadRange =>
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
