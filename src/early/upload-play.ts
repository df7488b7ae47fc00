// Answers who may watch: viewers of a direct upload that is not complete.

import { setTimeout as pause } from 'node:timers/promises';
import type { SegmentStore } from '../cache/segment-store.js';
import type { EarlyPlaybackId } from '../db/schema.js';
import type { IngestState } from '../domain/assets/ingest-state.js';
import type { DomainContext } from '../domain/context.js';
import { isKinoraError } from '../lib/errors.js';
import { isDatabaseUnavailable } from '../lib/unavailable.js';
import { isPrefixOf } from '../media/plan/growing-plan.js';
import type { Plan } from '../media/plan/plan.js';
import type { SourceFacts } from '../media/source/source-facts.js';
import type { SegmentProducer } from '../packager/segment-producer.js';
import { type MediaPool, mediaPriority } from '../pool/media-pool.js';
import { BLOCK_BYTES, type RangeBlobStore } from '../storage/blob-store.js';
import type { Logger } from '../telemetry/logger.js';
import { announceEarlyPlayback, newPlaybackIds, retractEarlyPlayback } from '../uploads/early-playback.js';
import type { PlayableUpload, UploadPlayer } from '../uploads/upload-playback.js';
import type { EarlyPlan } from './first-segments.js';
import { Planner } from './planner.js';
import type { EarlySource, EarlySources } from './sources.js';
import { reasonOf, recordStatus } from './status.js';

export interface UploadPlayDeps {
  readonly context: DomainContext;
  readonly blobs: RangeBlobStore;
  readonly earlySources: EarlySources;
  readonly cache: SegmentStore;
  readonly producer: Pick<SegmentProducer, 'warm'>;
  readonly pool: MediaPool;
  readonly temporaryDir: string;
  readonly logger: Logger;
}

/** A file is planned again when this many times as many bytes have arrived … */
const NEXT_TRY = 1.5;
/**
 * … and one that grows, which is read from its start each time, after this share of it at most:
 * three files in all.
 */
const NEXT_SHARE = 1 / 6;
const ANNOUNCE_AGAIN_MS = 1000;
const OTHER_PLAN = 'the frames that arrived later need another plan';

/**
 * Plans the asset of an upload from its index, then lets what has arrived play. A file that grows
 * has no index at its start; it is planned again and again from what has arrived. The plan is not
 * stored: it is made again from the complete file before the asset is ready.
 */
export class UploadPlay implements UploadPlayer {
  private readonly assetId: string;
  private readonly logger: Logger;
  private readonly planner: Planner;
  private readonly stopped = new AbortController();
  private planning: Promise<void> | undefined;
  private planAtBytes = 0;
  private readableBytes = 0;
  /** What the probe of a growing file found. */
  private facts: SourceFacts | undefined;
  /** The upload as viewers know it; undefined while it does not play. */
  private offered: EarlySource['upload'];

  constructor(
    private readonly deps: UploadPlayDeps,
    private readonly playable: PlayableUpload,
  ) {
    const {
      upload,
      settings: { settings },
    } = playable;
    this.assetId = upload.target_asset_id;
    this.logger = deps.logger.child({ upload_id: upload.id, asset_id: this.assetId });
    const asset = { ...settings, is_test: settings.is_test || upload.is_test };
    const { assetId, logger } = this;
    this.planner = new Planner({ ...deps, assetId, logger, signal: this.stopped.signal, row: { asset } });
  }

  /** Whether it plans once `bytes` bytes from the start can be read. */
  isWaiting(bytes: number): boolean {
    return bytes >= this.planAtBytes && !this.stopped.signal.aborted;
  }

  /** Reports the number of bytes from the start that can be read. */
  received(bytes: number): void {
    this.readableBytes = bytes;
    if (this.isWaiting(bytes)) this.planning = this.plan();
  }

  isOffered(): boolean {
    return this.offered !== undefined;
  }

  /** Ends planning. What can be played stays so. */
  async endPlanning(): Promise<void> {
    this.stopped.abort();
    await this.planning;
  }

  /** Ends early playback and removes what was made. */
  async withdraw(): Promise<void> {
    await this.endPlanning();
    await this.remove();
  }

  private async plan(): Promise<void> {
    const receivedBytes = this.readableBytes;
    this.planAtBytes = Number.POSITIVE_INFINITY;
    try {
      await (this.playable.grows ? this.planGrown(receivedBytes) : this.planIndexed(receivedBytes));
    } catch (error) {
      if (this.stopped.signal.aborted) return;
      this.logger.info({ err: error, received_bytes: receivedBytes }, 'upload not planned from its start');
      // The frames that a probe reads have not arrived.
      if (this.playable.grows || isKinoraError(error, 'unavailable')) this.planAtBytes = receivedBytes * NEXT_TRY;
      else await this.playable.record({ status: 'stored_first', reason: reasonOf(error) });
    }
    // It may have arrived in the meantime, in a request that has ended.
    if (this.isWaiting(this.readableBytes)) await this.plan();
  }

  private async planIndexed(receivedBytes: number): Promise<void> {
    const { source } = this.playable;
    source.keepOpening([{ start: 0, end: receivedBytes - (receivedBytes % BLOCK_BYTES) }]);
    const early = await this.planner.ranges(source, [], true);
    if (typeof early === 'string') await this.playable.record({ status: 'stored_first', reason: early });
    else if (!this.stopped.signal.aborted) await this.offer(early);
  }

  private async planGrown(receivedBytes: number): Promise<void> {
    const grown = await this.planner.prefix(receivedBytes, this.facts);
    if (this.stopped.signal.aborted) return;
    const playing = this.offered && this.deps.earlySources.planOf(this.assetId);
    // Where the key frames are uneven, a longer part may have fewer certain segments.
    const isShorter = typeof grown === 'object' && playing !== undefined && isPrefixOf(grown.early.plan, playing);
    if (typeof grown === 'string' || (grown && playing && !isShorter && !isPrefixOf(playing, grown.early.plan))) {
      const reason = typeof grown === 'string' ? grown : OTHER_PLAN;
      const status = this.offered ? 'ended' : 'stored_first';
      await this.remove();
      return this.playable.record({ status, reason });
    }
    this.facts = grown?.facts;
    this.planAtBytes = Math.min(receivedBytes * NEXT_TRY, receivedBytes + this.playable.source.sizeBytes * NEXT_SHARE);
    if (grown && !isShorter) await this.offer(grown.early);
  }

  private async offer(early: EarlySource): Promise<void> {
    const { assetId, deps } = this;
    const { earlySources, cache } = deps;
    if (this.offered) return earlySources.offer(assetId, { ...early, upload: this.offered });
    const { upload, settings } = this.playable;
    const playbackIds = upload.early_playback_ids ?? newPlaybackIds(settings);
    // Of a server that was killed: the sender may send other bytes for those that were not
    // acknowledged.
    await cache.removeAsset(assetId);
    if (this.stopped.signal.aborted) return;
    // First, because receivers of the event play at once.
    this.offered = { id: upload.id, playbackIds: playbackIds.map(({ id }) => id) };
    earlySources.offer(assetId, { ...early, upload: this.offered });
    const isAnnounced = await this.announce(playbackIds).catch(async (error: unknown) => {
      if (!this.stopped.signal.aborted) await this.remove();
      throw error;
    });
    if (!isAnnounced) return this.remove();
    this.logger.info({}, 'upload plays early');
    this.warm(early.plan);
  }

  /**
   * Repeated until the database answers: what plays is offered only once. Returns false when the
   * upload has ended.
   */
  private async announce(playbackIds: readonly EarlyPlaybackId[]): Promise<boolean> {
    for (;;) {
      try {
        return await announceEarlyPlayback(this.deps.context, this.playable.upload.id, playbackIds);
      } catch (error) {
        if (!isDatabaseUnavailable(error)) throw error;
        this.logger.warn({ err: error }, 'upload not announced as playable, retrying');
        await pause(ANNOUNCE_AGAIN_MS, undefined, { signal: this.stopped.signal });
      }
    }
  }

  /** Does not wait: what follows may be planned while the first segments are made. */
  private warm(plan: Plan): void {
    const { signal } = this.stopped;
    const asset = { id: this.assetId, plan, isLocal: true };
    this.deps.producer.warm(asset, { signal, priority: mediaPriority.warmUp }).catch((error: unknown) => {
      if (signal.aborted || isKinoraError(error, 'unavailable')) return;
      this.logger.info({ err: error }, 'early playback failed');
      const removed = this.remove().then(() => this.playable.record({ status: 'ended', reason: reasonOf(error) }));
      removed.catch((cause: unknown) => this.logger.error({ err: cause }, 'early playback not ended'));
    });
  }

  private async remove(): Promise<void> {
    if (!this.offered) return;
    this.offered = undefined;
    this.deps.earlySources.withdraw(this.assetId);
    await this.deps.cache.removeAsset(this.assetId);
    await retractEarlyPlayback(this.deps.context, this.playable.upload.id);
  }
}

interface ContinuedContext {
  readonly assetId: string;
  readonly earlySources: EarlySources;
  readonly cache: Pick<SegmentStore, 'removeAsset'>;
  readonly state: Pick<IngestState, 'saveEarlyPlayback'>;
  readonly logger: Logger;
}

/** An upload that played before it was complete plays on while its asset is prepared. */
export const continueUpload = (context: ContinuedContext): EarlyPlan | undefined => {
  const { assetId, earlySources, cache } = context;
  const plan = earlySources.planOf(assetId);
  if (!plan) return undefined;
  const withdraw = async (reason: string): Promise<void> => {
    earlySources.withdraw(assetId);
    await cache.removeAsset(assetId);
    await recordStatus(context, { status: 'ended', reason });
  };
  return { plan, withdraw };
};
