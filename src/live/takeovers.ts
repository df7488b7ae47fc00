import { setTimeout as pause } from 'node:timers/promises';
import { LIVE_LEASE_MS } from '../domain/live/live-lease.js';
import {
  type AbandonedBroadcast,
  HANDED_OVER,
  type InterruptedBroadcast,
  type LiveStates,
} from '../domain/live/live-states.js';
import type { Clock } from '../lib/clock.js';
import { isUnavailable } from '../lib/unavailable.js';
import type { Logger } from '../telemetry/logger.js';
import { listReplica, type ReplicaStore } from './recording/replica.js';

interface TakeoverDeps {
  readonly states: LiveStates;
  readonly replicas: ReplicaStore | undefined;
  /** Of the disk that recordings are written to. */
  readonly freeBytes: () => Promise<number>;
  /** What a takeover leaves of it, so that the broadcasts of this server do not end. */
  readonly keptFreeBytes: number;
  /** Reads the recording back and continues it; `isCut`: its end may be missing. */
  readonly resume: (broadcast: InterruptedBroadcast, isCut: boolean) => Promise<void>;
  /** See `BroadcastControl.handOver`; asks the server that owns the broadcast. */
  readonly askToHandOver: ((broadcast: AbandonedBroadcast) => Promise<boolean>) | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

const RETRY_MS = 2000;
const NO_ROOM = 'live stream of another server not taken over: the disk has no room for its recording';

/** Broadcasts that this server takes over from others. */
export class Takeovers {
  readonly #deps: TakeoverDeps;
  /** By live stream; each resolves with whether this server has it now. */
  readonly #running = new Map<string, Promise<boolean>>();
  /** The last call of `follow`, and the first one since which none was missing. */
  #followedMs = Number.NEGATIVE_INFINITY;
  #followsSinceMs = Number.POSITIVE_INFINITY;
  /** Live streams for which the disk has no room, as was logged. */
  readonly #withoutRoom = new Set<string>();
  /** Of recordings that are read back now. */
  #restoringBytes = 0;
  #isStopped = false;

  constructor(deps: TakeoverDeps) {
    this.#deps = deps;
  }

  /** Begins nothing more. */
  stop(): void {
    this.#isStopped = true;
  }

  /** The takeover of a live stream that is under way. */
  running(liveStreamId: string): Promise<boolean> | undefined {
    return this.#running.get(liveStreamId);
  }

  /**
   * Takes over what servers have left that do not run any more. Called after each renewed lease.
   */
  async follow(): Promise<void> {
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs - this.#followedMs > LIVE_LEASE_MS) this.#followsSinceMs = nowMs;
    this.#followedMs = nowMs;
    for (const abandoned of await this.#deps.states.abandoned()) void this.takeOver(abandoned);
  }

  /**
   * Continues what another server has left. Resolves with whether this server has the live stream
   * now: not while the other one has its lease, nor before it could renew it, because the database
   * was unavailable.
   */
  takeOver(abandoned: AbandonedBroadcast): Promise<boolean> {
    const { liveStreamId } = abandoned;
    const running = this.#running.get(liveStreamId);
    if (running) return running;
    const takeover = this.#takeOver(abandoned)
      .catch((error: unknown) => {
        this.#deps.logger.error({ err: error, live_stream_id: liveStreamId }, 'live stream not taken over');
        return false;
      })
      .finally(() => this.#running.delete(liveStreamId));
    this.#running.set(liveStreamId, takeover);
    return takeover;
  }

  /** The same from a server that runs without the encoder, which is asked to hand it over. */
  async claim(abandoned: AbandonedBroadcast): Promise<boolean> {
    if (await this.takeOver(abandoned)) return true;
    const { askToHandOver, logger } = this.#deps;
    const isHandedOver = await askToHandOver?.(abandoned).catch((error: unknown) => {
      logger.warn({ err: error, live_stream_id: abandoned.liveStreamId }, 'live stream not handed over');
      return false;
    });
    return isHandedOver === true && this.takeOver({ ...abandoned, ownerId: HANDED_OVER });
  }

  async #takeOver(abandoned: AbandonedBroadcast): Promise<boolean> {
    const { states, logger } = this.#deps;
    if (this.#isStopped || (abandoned.ownerId !== HANDED_OVER && !this.#hasFollowed())) return false;
    const { liveStreamId } = abandoned;
    const neededBytes = await this.#replicaBytes(liveStreamId);
    if (!(await this.#hasRoomFor(neededBytes))) {
      if (!this.#withoutRoom.has(liveStreamId))
        logger.warn({ live_stream_id: liveStreamId, bytes: neededBytes }, NO_ROOM);
      this.#withoutRoom.add(liveStreamId);
      return false;
    }
    this.#withoutRoom.delete(liveStreamId);
    const taken = await states.takeOver(abandoned);
    if (!taken) return false;
    if (taken === 'free' || taken.assetId === undefined) return true;
    const { assetId } = taken;
    const ids = { live_stream_id: liveStreamId, asset_id: assetId };
    logger.info({ ...ids, owner: abandoned.ownerId }, 'live stream taken over');
    const takenMs = this.#deps.clock.monotonicMs();
    while (!this.#isStopped) {
      this.#restoringBytes += neededBytes;
      try {
        await this.#deps.resume(taken, abandoned.ownerId !== HANDED_OVER);
        logger.info(
          { ...ids, elapsed_ms: Math.round(this.#deps.clock.monotonicMs() - takenMs) },
          'live stream continued',
        );
        return true;
      } catch (error) {
        logger.error({ err: error, ...ids }, 'live stream not continued');
        if (!isUnavailable(error)) {
          await states.giveUp(liveStreamId);
          return true;
        }
        await pause(RETRY_MS, undefined, { ref: false });
      } finally {
        this.#restoringBytes -= neededBytes;
      }
    }
    return false;
  }

  async #replicaBytes(liveStreamId: string): Promise<number> {
    const { states, replicas } = this.#deps;
    const assetId = await states.activeAsset(liveStreamId);
    return assetId && replicas ? (await listReplica(replicas, assetId)).sizeBytes : 0;
  }

  async #hasRoomFor(bytes: number): Promise<boolean> {
    const { freeBytes, keptFreeBytes } = this.#deps;
    return bytes === 0 || (await freeBytes()) - this.#restoringBytes - bytes > keptFreeBytes;
  }

  /** Whether every server that runs has had the time to renew its lease. */
  #hasFollowed(): boolean {
    const nowMs = this.#deps.clock.monotonicMs();
    return nowMs - this.#followedMs < LIVE_LEASE_MS && nowMs - this.#followsSinceMs >= LIVE_LEASE_MS;
  }
}
