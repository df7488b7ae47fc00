import { setTimeout as sleep } from 'node:timers/promises';
import type { SegmentStore } from '../cache/segment-store.js';
import type { IngestState } from '../domain/assets/ingest-state.js';
import type { Clock } from '../lib/clock.js';
import { type ErrorCode, isKinoraError, KinoraError } from '../lib/errors.js';
import type { Plan } from '../media/plan/plan.js';
import type { RemoteFile } from '../net/fetch-source.js';
import type { SegmentProducer } from '../packager/segment-producer.js';
import { mediaPriority } from '../pool/media-pool.js';
import type { BlobWrite, Doubt, RangeBlobStore } from '../storage/blob-store.js';
import { sourceKey } from '../storage/keys.js';
import { type PlanContext, planEarly } from './planner.js';
import type { StoredOverlay } from './settings.js';
import type { EarlySources } from './sources.js';
import { recordStatus } from './status.js';

interface OriginPlayContext extends PlanContext {
  readonly blobs: RangeBlobStore;
  readonly earlySources: EarlySources;
  readonly segments: SegmentStore;
  readonly producer: Pick<SegmentProducer, 'warm'>;
  readonly state: Pick<IngestState, 'saveEarlyPlayback'>;
  readonly clock: Clock;
}

/** An asset that plays while its source is still being stored. */
export interface EarlyPlay {
  /** The write target for the download. */
  readonly target: BlobWrite;
  readonly plan: Plan;
  /** Which version of the file is played. */
  readonly validator: string;
  /** Stops early playback and removes what was produced. */
  withdraw(reason: string): Promise<void>;
}

/**
 * For files of this size or more, the download of the rest waits until the first segments are made, so that these get
 * the full bandwidth.
 */
const LARGE_BYTES = 256 * 2 ** 20;
const MAX_WAIT_MS = 10_000;

/**
 * Plans the asset from the headers and the index of its source, then lets it play. Parts that viewers request are
 * fetched before the rest. The plan is not stored: it is made again from the stored file before the asset is ready.
 * Undefined when the file can't be played this way. It is then stored first, and any errors in it are reported after
 * that.
 */
export const playEarly = async (
  context: OriginPlayContext,
  remote: RemoteFile,
  target: BlobWrite,
  overlays: Promise<readonly StoredOverlay[]>,
): Promise<EarlyPlay | undefined> => {
  const { assetId, blobs, earlySources, segments, logger, producer, signal, state, clock } = context;
  const startedMs = clock.monotonicMs();
  let published = false;
  let announced: Promise<void> | undefined;
  let ended: Promise<void> | undefined;
  const end = async (reason: string): Promise<void> => {
    earlySources.withdraw(assetId);
    await source.close();
    await segments.removeAsset(assetId, new KinoraError('unavailable', { details: { reason } }));
    await announced;
    await recordStatus(context, { status: published ? 'ended' : 'stored_first', reason });
  };
  const withdraw = (reason: string): Promise<void> => (ended ??= end(reason));
  const source = await blobs.openRanges(
    sourceKey(assetId),
    target,
    watchFailures(remote, (error) => {
      withdraw(reasonOf(error)).catch((cause: unknown) => logger.error({ err: cause }, 'early playback not ended'));
    }),
    (doubt) => withdraw(DOUBTS[doubt]),
  );
  try {
    const early = await planEarly(context, source, await overlays);
    // Of an earlier run that was killed: nothing compared the parts that they were made from with the download.
    await segments.removeAsset(assetId);
    if (typeof early === 'string') {
      await withdraw(early);
    } else if (!ended) {
      published = true;
      earlySources.publish(assetId, early);
      announced = state.saveEarlyPlayback(assetId, { status: 'played' });
      await announced;
      const { fetchedBytes } = source;
      const elapsedMs = Math.round(clock.monotonicMs() - startedMs);
      logger.info({ elapsed_ms: elapsedMs, fetched_bytes: fetchedBytes }, 'asset plays early');
      const warm = producer.warm(
        { id: assetId, plan: early.plan, isLocal: true },
        { signal, priority: mediaPriority.warmUp },
      );
      const warmed = warm.catch((error: unknown) => {
        if (signal.aborted || ended) return;
        logger.info({ err: error }, 'early playback failed');
        return withdraw(reasonOf(error));
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
    await withdraw(reasonOf(error));
  }
  // It may have ended while it was planned. The download may write only then.
  await ended;
  return undefined;
};

const DOUBTS: Readonly<Record<Doubt, string>> = {
  differs: 'the origin sent other bytes for a range than in the whole file',
  restarts: 'the download had to start again',
};
const UNREADABLE = 'the file cannot be read in parts, for example because it is fragmented';
const REASONS: Readonly<Partial<Record<ErrorCode, string>>> = {
  range_missing: UNREADABLE,
  media_failed: UNREADABLE,
  source_changed: 'the origin answered a range request with another file or without the range',
  source_unreachable: 'the origin did not answer a range request completely',
};

/** For the operator and the owner of the file. */
export const reasonOf = (error: unknown): string =>
  isKinoraError(error) ? (REASONS[error.code] ?? `${error.code}: ${error.message}`) : 'internal_error';

/** Calls `onFailed` when the origin has another file, or does not send a range after several tries. */
const watchFailures = (remote: RemoteFile, onFailed: (error: KinoraError) => void): RemoteFile => ({
  ...remote,
  read: async function* (range, signal) {
    try {
      yield* remote.read(range, signal);
    } catch (error) {
      // The download waits while a range is read, so viewers of an origin that sends none would hold it up for good.
      if (isKinoraError(error) && !signal.aborted) onFailed(error);
      throw error;
    }
  },
});
