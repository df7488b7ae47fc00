import { setTimeout as pause } from 'node:timers/promises';
import type { SegmentStore } from '../cache/segment-store.js';
import type { EarlyPlayback, EarlyPlaybackId, Row } from '../db/schema.js';
import type { DomainContext } from '../domain/context.js';
import {
  announceEarlyPlayback,
  newPlaybackIds,
  retractEarlyPlayback,
  type UploadSettings,
} from '../domain/uploads/early-playback.js';
import { isKinoraError } from '../lib/errors.js';
import { isDatabaseUnavailable } from '../lib/unavailable.js';
import { isPrefixOf } from '../media/plan/growing-plan.js';
import type { SourceFacts } from '../media/source/source-facts.js';
import type { SegmentProducer } from '../packager/segment-producer.js';
import { type MediaPool, mediaPriority } from '../pool/media-pool.js';
import { BLOCK_BYTES, type RangeBlobStore, type RangeSource } from '../storage/blob-store.js';
import type { Logger } from '../telemetry/logger.js';
import { reasonOf } from './origin-play.js';
import { planArrived } from './plan-arrived.js';
import { planEarly } from './planner.js';
import type { EarlySource, EarlySources } from './sources.js';

export interface UploadPlayDeps {
  readonly context: DomainContext;
  readonly blobs: RangeBlobStore;
  readonly earlySources: EarlySources;
  readonly segments: SegmentStore;
  readonly producer: Pick<SegmentProducer, 'warm'>;
  readonly pool: MediaPool;
  readonly temporaryDir: string;
  readonly logger: Logger;
}

/** An upload that plays, or may play, before it is complete. */
export interface UploadPlay {
  /** Whether it plans once `bytes` bytes from the start can be read. */
  isWaiting(bytes: number): boolean;
  /** Reports the number of bytes from the start that can be read. */
  received(bytes: number): void;
  isPublished(): boolean;
  /** Ends planning. What can be played stays so. */
  settle(): Promise<void>;
  /** Ends early playback and removes what was made. */
  withdraw(): Promise<void>;
}

/** A file is planned again when this many times as many bytes have arrived … */
const NEXT_TRY = 1.5;
/** … and one that grows, which is read from its start each time, after this share of it at most: three files in all. */
const NEXT_SHARE = 1 / 6;
const ANNOUNCE_AGAIN_MS = 1000;
const OTHER_PLAN = 'the frames that arrived later need another plan';

/**
 * Plans the asset of an upload from its index, then lets what has arrived play. A file that `grows` has no index at its
 * start; it is planned again and again from what has arrived. The plan is not stored: it is made again from the complete
 * file before the asset is ready.
 */
export const playUpload = (
  deps: UploadPlayDeps,
  upload: Row<'upload'>,
  request: UploadSettings,
  source: RangeSource,
  grows: boolean,
  /** Called with the reason when it can't be played, or not any more. */
  record: (way: EarlyPlayback) => Promise<void>,
): UploadPlay => {
  const { context, earlySources, segments, producer } = deps;
  const assetId = upload.target_asset_id;
  const logger = deps.logger.child({ upload_id: upload.id, asset_id: assetId });
  const stopped = new AbortController();
  const { signal } = stopped;
  let planning: Promise<void> | undefined;
  let planAtBytes = 0;
  let readableBytes = 0;
  let published = false;
  let playingAs: NonNullable<EarlySource['upload']>;

  const remove = async (): Promise<void> => {
    if (!published) return;
    published = false;
    earlySources.withdraw(assetId);
    await segments.removeAsset(assetId);
    await retractEarlyPlayback(context, upload.id);
  };

  /** Repeated until the database answers: what plays is published only once. Returns false when the upload has ended. */
  const announce = async (playbackIds: readonly EarlyPlaybackId[]): Promise<boolean> => {
    for (;;) {
      try {
        return await announceEarlyPlayback(context, upload.id, playbackIds);
      } catch (error) {
        if (!isDatabaseUnavailable(error)) throw error;
        logger.warn({ err: error }, 'upload not announced as playable, retrying');
        await pause(ANNOUNCE_AGAIN_MS, undefined, { signal });
      }
    }
  };
  const publish = async (early: EarlySource): Promise<void> => {
    if (published) return earlySources.publish(assetId, { ...early, upload: playingAs });
    const playbackIds = upload.early_playback_ids ?? newPlaybackIds(request);
    // Of a server that was killed: the sender may send other bytes for those that were not acknowledged.
    await segments.removeAsset(assetId);
    if (signal.aborted) return;
    // First, because receivers of the event play at once.
    playingAs = { id: upload.id, playbackIds: playbackIds.map(({ id }) => id) };
    earlySources.publish(assetId, { ...early, upload: playingAs });
    published = true;
    const isAnnounced = await announce(playbackIds).catch(async (error: unknown) => {
      if (!signal.aborted) await remove();
      throw error;
    });
    if (!isAnnounced) return remove();
    logger.info({}, 'upload plays early');
    const warm = producer.warm(
      { id: assetId, plan: early.plan, isLocal: true },
      { signal, priority: mediaPriority.warmUp },
    );
    warm.catch((error: unknown) => {
      if (signal.aborted || isKinoraError(error, 'unavailable')) return;
      logger.info({ err: error }, 'early playback failed');
      const removed = remove().then(() => record({ status: 'ended', reason: reasonOf(error) }));
      removed.catch((cause: unknown) => logger.error({ err: cause }, 'early playback not ended'));
    });
  };

  const { settings } = request;
  const asset = { ...settings, is_test: settings.is_test || upload.is_test };
  const planContext = { ...deps, assetId, logger, signal, row: { asset } };
  let facts: SourceFacts | undefined;

  const planIndexed = async (receivedBytes: number): Promise<void> => {
    source.keepOpening([{ start: 0, end: receivedBytes - (receivedBytes % BLOCK_BYTES) }]);
    const early = await planEarly(planContext, source, [], true);
    if (typeof early === 'string') await record({ status: 'stored_first', reason: early });
    else if (!signal.aborted) await publish(early);
  };
  const planGrown = async (receivedBytes: number): Promise<void> => {
    const grown = await planArrived(planContext, receivedBytes, facts);
    if (signal.aborted) return;
    const playing = published ? earlySources.planOf(assetId) : undefined;
    // Where the key frames are uneven, a longer part may have fewer certain segments.
    const isShorter = typeof grown === 'object' && playing !== undefined && isPrefixOf(grown.early.plan, playing);
    if (typeof grown === 'string' || (grown && playing && !isShorter && !isPrefixOf(playing, grown.early.plan))) {
      const reason = typeof grown === 'string' ? grown : OTHER_PLAN;
      const status = published ? 'ended' : 'stored_first';
      await remove();
      return record({ status, reason });
    }
    facts = grown?.facts;
    planAtBytes = Math.min(receivedBytes * NEXT_TRY, receivedBytes + source.sizeBytes * NEXT_SHARE);
    if (grown && !isShorter) await publish(grown.early);
  };

  const plan = async (): Promise<void> => {
    const receivedBytes = readableBytes;
    planAtBytes = Number.POSITIVE_INFINITY;
    try {
      await (grows ? planGrown : planIndexed)(receivedBytes);
    } catch (error) {
      if (signal.aborted) return;
      logger.info({ err: error, received_bytes: receivedBytes }, 'upload not planned from its start');
      // The frames that a probe reads have not arrived.
      if (grows || isKinoraError(error, 'unavailable')) planAtBytes = receivedBytes * NEXT_TRY;
      else await record({ status: 'stored_first', reason: reasonOf(error) });
    }
    // It may have arrived in the meantime, in a request that has ended.
    if (isWaiting(readableBytes)) await plan();
  };

  const isWaiting = (bytes: number): boolean => bytes >= planAtBytes && !signal.aborted;
  return {
    isWaiting,
    received: (bytes) => {
      readableBytes = bytes;
      if (isWaiting(bytes)) planning = plan();
    },
    isPublished: () => published,
    settle: async () => {
      stopped.abort();
      await planning;
    },
    withdraw: async () => {
      stopped.abort();
      await planning;
      await remove();
    },
  };
};
