// Answers who may watch: viewers of an asset whose source is still downloaded from its origin.

import { setTimeout as sleep } from 'node:timers/promises';
import type { SegmentStore } from '../cache/segment-store.js';
import type { IngestState } from '../domain/assets/ingest-state.js';
import type { Clock } from '../lib/clock.js';
import { isKinoraError, KinoraError } from '../lib/errors.js';
import type { Plan } from '../media/plan/plan.js';
import type { RemoteFile } from '../net/fetch-source.js';
import type { SegmentProducer } from '../packager/segment-producer.js';
import { mediaPriority } from '../pool/media-pool.js';
import type { BlobWrite, Mismatch, RangeBlobStore, RangeSource } from '../storage/blob-store.js';
import { sourceKey } from '../storage/keys.js';
import { type PlanContext, Planner } from './planner.js';
import type { StoredOverlay } from './settings.js';
import type { EarlySource, EarlySources } from './sources.js';
import { reasonOf, recordStatus } from './status.js';

export interface OriginPlayContext extends PlanContext {
  readonly blobs: RangeBlobStore;
  readonly earlySources: EarlySources;
  readonly cache: SegmentStore;
  readonly producer: Pick<SegmentProducer, 'warm'>;
  readonly state: Pick<IngestState, 'saveEarlyPlayback'>;
  readonly clock: Clock;
}

/**
 * For files of this size or more, the download of the rest waits until the first segments are made,
 * so that these get the full bandwidth.
 */
const LARGE_BYTES = 256 * 2 ** 20;
const MAX_WAIT_MS = 10_000;

const MISMATCHES: Readonly<Record<Mismatch, string>> = {
  differs: 'the origin sent other bytes for a range than in the whole file',
  restarts: 'the download had to start again',
};

/**
 * An asset that plays while its source is downloaded. It is planned from the headers and the index
 * of the source; parts that viewers request are fetched before the rest. The plan is not stored: it
 * is made again from the stored file before the asset is ready.
 */
export class OriginPlay {
  private readonly startedMs: number;
  private source!: RangeSource;
  private early: EarlySource | undefined;
  private announced: Promise<void> | undefined;
  private ended: Promise<void> | undefined;

  private constructor(
    private readonly context: OriginPlayContext,
    private readonly remote: RemoteFile,
  ) {
    this.startedMs = context.clock.monotonicMs();
  }

  /**
   * Undefined when the file can't be played this way. It is then stored first, and any errors in it
   * are reported after that.
   */
  static async open(
    context: OriginPlayContext,
    remote: RemoteFile,
    target: BlobWrite,
    overlays: Promise<readonly StoredOverlay[]>,
  ): Promise<OriginPlay | undefined> {
    const { assetId, blobs, logger, signal } = context;
    const play = new OriginPlay(context, remote);
    play.source = await blobs.openRanges(
      sourceKey(assetId),
      target,
      watchFailures(remote, (error) => play.withdrawLater(error)),
      (mismatch) => play.withdraw(MISMATCHES[mismatch]),
    );
    try {
      if (await play.start(await overlays)) return play;
    } catch (error) {
      if (signal.aborted || !isKinoraError(error)) {
        await play.source.close();
        throw error;
      }
      logger.info({ err: error }, 'source not readable by ranges');
      await play.withdraw(reasonOf(error));
    }
    // It may have ended while it was planned. The download may write only then.
    await play.ended;
    return undefined;
  }

  /** The write target for the download. */
  get target(): BlobWrite {
    return this.source.target;
  }

  get plan(): Plan {
    return this.early!.plan;
  }

  /** Which version of the file is played. */
  get validator(): string {
    return this.remote.validator;
  }

  /** Stops early playback and removes what was produced. */
  withdraw(reason: string): Promise<void> {
    this.ended ??= this.end(reason);
    return this.ended;
  }

  /** Returns false when the asset can't be played. */
  private async start(overlays: readonly StoredOverlay[]): Promise<boolean> {
    const { assetId, clock, earlySources, logger, cache, state } = this.context;
    // Of an earlier run that was killed: nothing compared the parts that they were made from with
    // the download.
    const removed = cache.removeAsset(assetId);
    removed.catch(() => undefined);
    const early = await new Planner(this.context).ranges(this.source, overlays);
    await removed;
    if (typeof early === 'string') await this.withdraw(early);
    if (typeof early === 'string' || this.ended) return false;
    this.early = early;
    earlySources.offer(assetId, early);
    const warmed = this.warm(early.plan);
    this.announced = state.saveEarlyPlayback(assetId, { status: 'played' });
    await this.announced;
    const elapsedMs = Math.round(clock.monotonicMs() - this.startedMs);
    logger.info({ elapsed_ms: elapsedMs, fetched_bytes: this.source.fetchedBytes }, 'asset plays early');
    if (this.remote.sizeBytes >= LARGE_BYTES)
      await Promise.race([warmed, sleep(MAX_WAIT_MS, undefined, { ref: false })]);
    return true;
  }

  private async warm(plan: Plan): Promise<void> {
    const { assetId: id, logger, producer, signal } = this.context;
    try {
      await producer.warm({ id, plan, isOnlyHere: true }, { signal, priority: mediaPriority.warmUp });
    } catch (error) {
      if (signal.aborted || this.ended) return;
      logger.info({ err: error }, 'early playback failed');
      await this.withdraw(reasonOf(error));
    }
  }

  private withdrawLater(error: KinoraError): void {
    this.withdraw(reasonOf(error)).catch((cause: unknown) => {
      this.context.logger.error({ err: cause }, 'early playback not ended');
    });
  }

  private async end(reason: string): Promise<void> {
    const { assetId, earlySources, cache } = this.context;
    earlySources.withdraw(assetId);
    await this.source.close();
    await cache.removeAsset(assetId, new KinoraError('unavailable', { details: { reason } }));
    await this.announced;
    await recordStatus(this.context, { status: this.early ? 'ended' : 'stored_first', reason });
  }
}

/**
 * Calls `onFailed` when the origin has another file, or does not send a range after several tries.
 */
const watchFailures = (remote: RemoteFile, onFailed: (error: KinoraError) => void): RemoteFile => ({
  ...remote,
  read: async function* (range, signal) {
    try {
      yield* remote.read(range, signal);
    } catch (error) {
      // The download waits while a range is read, so viewers of an origin that sends none would
      // hold it up for good.
      if (isKinoraError(error) && !signal.aborted) onFailed(error);
      throw error;
    }
  },
});
