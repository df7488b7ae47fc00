import { setTimeout as pause } from 'node:timers/promises';
import type { BroadcastRef, RecordedRange } from '../domain/assets/recording-cutter.js';
import type { BroadcastControl, DisconnectReason } from '../domain/live/live-control.js';
import type { LiveSettings } from '../domain/live/live-settings.js';
import type { AbandonedBroadcast, InterruptedBroadcast, LiveStates } from '../domain/live/live-states.js';
import type { LiveFeed, LiveFeeds } from '../domain/playback/live-feed.js';
import type { Clock } from '../lib/clock.js';
import { KinoraError } from '../lib/errors.js';
import { isUnavailable } from '../lib/unavailable.js';
import type { ConnectionOpener } from '../net/open-connection.js';
import type { BlobStore } from '../storage/blob-store.js';
import { sourceKey } from '../storage/keys.js';
import type { Logger } from '../telemetry/logger.js';
import { AttemptLimit } from './attempt-limit.js';
import { Broadcast, type ResumedBroadcast } from './broadcast.js';
import type { IngestTarget, Publication, PublishRequest, Refusal } from './ingest.js';
import { FAILURES } from './owner-messages.js';
import type { Recording } from './recording/recording.js';
import { type ReplicaStore, replicaStoreOf } from './recording/replica.js';
import type { LiveRungs } from './rungs/live-rungs.js';
import type { SlateMaker } from './slate/slate-maker.js';
import { StateLog } from './state-log.js';
import type { SubtitleMaker } from './subtitles/subtitle-maker.js';
import { Takeovers } from './takeovers.js';

/** This server among several. */
export interface OwnerUse {
  /** Names it, also after a restart. */
  readonly id: string;
  /** See `BroadcastControl.handOver`; asks the server that owns the broadcast. */
  readonly askToHandOver: (broadcast: AbandonedBroadcast) => Promise<boolean>;
}

export interface LiveServerDeps {
  readonly blobs: BlobStore;
  /** Of the disk that recordings are written to. */
  readonly freeBytes: () => Promise<number>;
  /** The largest recording. */
  readonly maxBytes: number;
  readonly rungs: LiveRungs;
  readonly slates: SlateMaker;
  readonly subtitles: SubtitleMaker;
  /** Of simulcast targets. */
  readonly opener: ConnectionOpener;
  /** Called when `ids` may have changed. */
  readonly onChanged: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Viewers of a live stream learn of its end within this time. */
const STREAM_AFTER_END_MS = 60_000;
/** Viewers who rewound play on by the playlists of the broadcast. */
const ASSET_AFTER_END_MS = 12 * 60 * 60_000;
/** Recordings leave this much of the disk to everything else, such as the database. */
const KEPT_FREE_BYTES = 64 * 2 ** 20;
const CHECK_DISK_MS = 1000;
/** Of one live stream in a minute: each makes events. */
const MAX_CONNECTIONS = 60;
/** A database that is silent for longer does not keep the encoder of a broadcast waiting. */
const KEY_LOOKUP_MS = 2000;
/** Whoever waits longer for a recording to be read back tries again. */
const TAKEOVER_WAIT_MS = 8000;
/** Requests that end a broadcast do not wait longer until that is stored. */
const END_WAIT_MS = 10_000;

const DISCONNECTED: Record<DisconnectReason, string> = {
  disabled: 'The live stream is disabled.',
  deleted: 'The live stream was deleted.',
  'stream key reset': 'The stream key was reset.',
};

/**
 * The live streams that this server receives: at most one broadcast of each. One file, because what
 * begins, continues and ends a broadcast changes the same maps.
 */
export class LiveServer implements IngestTarget, LiveFeeds, BroadcastControl {
  /** Where encoders are received, once something listens there. */
  readonly ports = new Map<'rtmp' | 'rtmps' | 'srt', number>();
  readonly #deps: LiveServerDeps;
  readonly #broadcasts = new Map<string, Broadcast>();
  readonly #byAsset = new Map<string, LiveFeed>();
  readonly #byStream = new Map<string, LiveFeed>();
  /** By asset, as long as its feed. */
  readonly #recordings = new Map<string, Recording>();
  /** By live stream, while it has a broadcast. */
  readonly #logs = new Map<string, StateLog>();
  readonly #connections: AttemptLimit;
  readonly #timers = new Set<NodeJS.Timeout>();
  #diskTimer: NodeJS.Timeout | undefined;
  #states: LiveStates | undefined;
  #owner: OwnerUse | undefined;
  #replicas: ReplicaStore | undefined;
  #takeovers: Takeovers | undefined;
  #isHandedOver = false;
  /** Whether what a stop has interrupted goes on. */
  #isResumed = false;

  constructor(deps: LiveServerDeps) {
    this.#deps = deps;
    this.#connections = new AttemptLimit(MAX_CONNECTIONS, deps.clock);
  }

  /**
   * Continues the broadcasts that a stop of the server has interrupted, and accepts encoders.
   */
  async start(states: LiveStates, owner?: OwnerUse): Promise<void> {
    const { logger } = this.#deps;
    this.#states = states;
    this.#owner = owner;
    if (owner) this.#replicas = replicaStoreOf(this.#deps.blobs);
    this.#takeovers = this.#createTakeovers(states);
    this.#deps.onChanged();
    const interrupted = await states.interrupted();
    this.#diskTimer = setInterval(() => void this.#checkDisk(), CHECK_DISK_MS).unref();
    const resume = async (broadcast: InterruptedBroadcast) => {
      const { assetId, settings } = broadcast;
      const { liveStreamId } = settings;
      if (assetId === undefined) {
        await states.disconnected(liveStreamId, { recordingTimes: [] });
        return;
      }
      try {
        await this.#resume(broadcast, { restores: false });
      } catch (error) {
        logger.error({ err: error, live_stream_id: liveStreamId, asset_id: assetId }, 'live stream not continued');
      }
    };
    await Promise.all(interrupted.map(resume));
    this.#isResumed = true;
    const goingOn = new Set(interrupted.map(({ assetId }) => assetId));
    this.#warnOfFailure(this.#deps.rungs.sweep((assetId) => goingOn.has(assetId)));
  }

  async stop(limitMs: number): Promise<void> {
    const states = this.#states;
    this.#states = undefined;
    this.#takeovers?.stop();
    clearInterval(this.#diskTimer);
    for (const timer of this.#timers) clearTimeout(timer);
    const suspend = async ([id, broadcast]: [string, Broadcast]): Promise<boolean> => {
      const isReplicated = await broadcast.suspend(limitMs);
      const isHandedOver = isReplicated && this.#owner ? await states!.handOver(id).catch(() => false) : false;
      if (!isHandedOver) return false;
      // Requests about it are for the next owner, also while others are still being handed over.
      this.#broadcasts.delete(id);
      const feed = this.#byStream.get(id);
      if (feed?.assetId === broadcast.assetId) this.#forget(id, feed);
      return true;
    };
    const handedOver = await Promise.all([...this.#broadcasts].map(suspend));
    this.#isHandedOver = this.#owner !== undefined && handedOver.every(Boolean);
    await this.#deps.rungs.stop();
    if (!this.#isHandedOver) return;
    // Viewers are passed on to the server that continues.
    this.#byAsset.clear();
    this.#recordings.clear();
    this.#byStream.clear();
    this.#deps.onChanged();
  }

  /** Whether others lack nothing of what this server had, after `stop`. */
  get isHandedOver(): boolean {
    return this.#isHandedOver;
  }

  /**
   * Takes over what servers have left that do not run any more, and drops what others have taken
   * from this one. Called whenever the lease of this server was renewed.
   */
  async follow(): Promise<void> {
    const states = this.#states;
    if (!states) return;
    for (const id of await states.lost(this.#broadcasts.values())) await this.#broadcasts.get(id)?.abandon();
    await this.#takeovers?.follow();
  }

  /**
   * Continues what another server has left. Resolves with whether this server has the live stream
   * now; while its recording is still being read back, that is false, too.
   */
  async takeOver(abandoned: AbandonedBroadcast): Promise<boolean> {
    return this.#takeovers !== undefined && (await soonOf(this.#takeovers.takeOver(abandoned))) === true;
  }

  #createTakeovers(states: LiveStates): Takeovers {
    const { rungs, clock, logger } = this.#deps;
    return new Takeovers({
      states,
      replicas: this.#replicas,
      freeBytes: async () => (await this.#deps.freeBytes()) - this.#missingBytes,
      keptFreeBytes: 2 * KEPT_FREE_BYTES,
      resume: async (broadcast, isCut) => {
        // Of an earlier time with the broadcast.
        this.#warnOfFailure(rungs.sweep((id) => id !== broadcast.assetId));
        await this.#resume(broadcast, { restores: true, isCut });
      },
      askToHandOver: this.#owner?.askToHandOver,
      clock,
      logger,
    });
  }

  /** What recordings that were taken over will still take of the disk. */
  get #missingBytes(): number {
    return [...this.#broadcasts.values()].reduce((sum, { missingBytes }) => sum + missingBytes, 0);
  }

  async #resume(broadcast: InterruptedBroadcast, replica: Pick<ResumedBroadcast, 'restores' | 'isCut'>): Promise<void> {
    const { settings, assetId, isActive, recordingTimes: times, term, subtitlesId } = broadcast;
    try {
      await this.#broadcastOf(settings).resume(assetId!, { isActive, times, subtitlesId, term, ...replica });
    } catch (error) {
      this.#broadcasts.get(settings.liveStreamId)?.giveUp();
      this.#broadcasts.delete(settings.liveStreamId);
      throw error;
    }
  }

  async publish(request: PublishRequest): Promise<Publication | Refusal> {
    try {
      const settings = await this.#findByKey(request.streamKey);
      const isDiskFull = await this.#isDiskFull();
      if (!this.#states) return { reason: 'unavailable', message: 'The server is restarting.' };
      if (!settings) return { reason: 'unknown_key', message: 'No live stream has this stream key.' };
      const { liveStreamId } = settings;
      if (request.hasPassphrase?.(settings.srtPassphrase) === false)
        return { reason: 'wrong_passphrase', message: 'The passphrase is wrong.', liveStreamId };
      if (settings.status === 'disabled') return { reason: 'disabled', message: DISCONNECTED.disabled, liveStreamId };
      if (isDiskFull) return { reason: 'unavailable', message: FAILURES.disk_full, liveStreamId };
      if (this.#connections.isReached(liveStreamId)) {
        const message = 'The encoder connects too often; try again in a minute.';
        return { reason: 'rate_limited', message, liveStreamId };
      }
      const refusal = await this.#own(settings);
      if (refusal) return refusal;
      const accepted = this.#broadcastOf(settings).connect(request);
      if ('reason' in accepted) return { ...accepted, liveStreamId };
      this.#connections.add(liveStreamId);
      return accepted;
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      return { reason: 'unavailable', message: 'The server can not check the stream key now. Try again.' };
    }
  }

  /** Makes sure that this server may receive the live stream. */
  async #own({ liveStreamId, ownerId }: LiveSettings): Promise<Refusal | undefined> {
    const owner = this.#owner;
    const isOther = ownerId !== undefined && owner && ownerId !== owner.id;
    const takeovers = this.#takeovers;
    const takeover = isOther ? takeovers?.claim({ liveStreamId, ownerId }) : takeovers?.running(liveStreamId);
    if (!takeover) return undefined;
    const has = await soonOf(takeover);
    if (has === true) return undefined;
    if (has === false)
      return { reason: 'in_use', message: 'Another server has the broadcast of this live stream.', liveStreamId };
    const message = 'The recording of another server is being read back. Try again.';
    return { reason: 'unavailable', message, liveStreamId };
  }

  async handOver(liveStreamId: string): Promise<boolean> {
    return (await this.#broadcasts.get(liveStreamId)?.handOver()) ?? false;
  }

  /** @throws KinoraError `unavailable` while its recording is being opened */
  async complete(liveStreamId: string): Promise<boolean> {
    this.#checkOpen(liveStreamId);
    return isSoon(this.#broadcasts.get(liveStreamId)?.complete());
  }

  /** @throws KinoraError `unavailable` while its recording is being opened */
  async disconnect(liveStreamId: string, reason: DisconnectReason): Promise<boolean> {
    const broadcast = this.#broadcasts.get(liveStreamId);
    if (reason !== 'stream key reset') {
      this.#checkOpen(liveStreamId);
      return isSoon(broadcast?.stop(DISCONNECTED[reason]));
    }
    broadcast?.forgetKey();
    broadcast?.closeConnection(DISCONNECTED[reason]);
    return true;
  }

  async recordedSeconds({ assetId }: BroadcastRef): Promise<number | undefined> {
    return this.#recordings.get(assetId)?.displayedSeconds;
  }

  async copyRange({ assetId, clipId, ...range }: RecordedRange): Promise<number | undefined> {
    const recording = this.#recordings.get(assetId);
    if (!recording) return undefined;
    // Clips must not end broadcasts.
    const share = (range.endSeconds - range.startSeconds) / recording.durationSeconds;
    if (await this.#isDiskFull(recording.sizeBytes * share))
      throw new KinoraError('unavailable', { details: { reason: 'there is no room for a clip of a broadcast' } });
    return recording.copyRange(sourceKey(clipId), range);
  }

  #checkOpen(liveStreamId: string): void {
    if ((this.#states && !this.#isResumed) || this.#takeovers?.running(liveStreamId))
      throw new KinoraError('unavailable', { details: { reason: 'the recording is being opened' } });
  }

  /** Whether this server has the broadcast or the encoder of a live stream. */
  has(liveStreamId: string): boolean {
    return this.#broadcasts.has(liveStreamId);
  }

  /** Whether a restart would interrupt nothing. */
  get isIdle(): boolean {
    return this.#broadcasts.size === 0;
  }

  /** What other servers reach here: the ID of this one, and what can be watched. */
  ids(): readonly string[] {
    const own = this.#owner ? [this.#owner.id] : [];
    return [...own, ...this.#byAsset.keys(), ...this.#byStream.keys()];
  }

  ofAsset(assetId: string): LiveFeed | undefined {
    return this.#byAsset.get(assetId);
  }

  ofStream(liveStreamId: string): LiveFeed | undefined {
    return this.#byStream.get(liveStreamId);
  }

  /** While the database is unavailable, encoders of broadcasts that are on air can come back. */
  async #findByKey(streamKey: string): Promise<LiveSettings | undefined> {
    const lookup = this.#states?.findByKey(streamKey);
    const settings = [...this.#broadcasts.values()].find((broadcast) => broadcast.hasKey(streamKey))?.settings;
    if (!lookup || !settings) return lookup;
    const lookupOrSettings = lookup.catch((error: unknown) => {
      if (!isUnavailable(error)) throw error;
      return settings;
    });
    return Promise.race([lookupOrSettings, pause(KEY_LOOKUP_MS, settings, { ref: false })]);
  }

  #broadcastOf(settings: LiveSettings): Broadcast {
    const { liveStreamId } = settings;
    const current = this.#broadcasts.get(liveStreamId);
    if (current && !current.isEnded) return current;
    // It has waited for the end of its hold after `complete`.
    current?.closeConnection('Another encoder has taken over.');
    const log = this.#logs.get(liveStreamId) ?? new StateLog(this.#deps.logger.child({ live_stream_id: liveStreamId }));
    this.#logs.set(liveStreamId, log);
    let assetId: string | undefined;
    const broadcast: Broadcast = new Broadcast(
      {
        ...this.#deps,
        log,
        states: this.#states!,
        replicas: this.#replicas,
        onPlayable: (feed, recording) => {
          assetId = feed.assetId;
          this.#byAsset.set(assetId, feed);
          this.#recordings.set(assetId, recording);
          this.#byStream.set(liveStreamId, feed);
          this.#deps.onChanged();
          if (broadcast.isEnded) this.#forgetLater(liveStreamId, assetId);
        },
        onEnded: () => {
          if (assetId !== undefined) this.#forgetLater(liveStreamId, assetId);
        },
        onLost: () => {
          if (assetId === undefined) return;
          const feed = this.#byAsset.get(assetId);
          this.#forget(liveStreamId, feed);
          if (feed) this.#warnOfFailure(this.#deps.rungs.close(feed));
        },
        onGone: () => {
          if (this.#broadcasts.get(liveStreamId) !== broadcast) return;
          this.#broadcasts.delete(liveStreamId);
          this.#logs.delete(liveStreamId);
        },
      },
      settings,
    );
    this.#broadcasts.set(liveStreamId, broadcast);
    return broadcast;
  }

  /** Whether so much more would end broadcasts. */
  async #isDiskFull(addedBytes = 0): Promise<boolean> {
    const broadcasts = [...this.#broadcasts.values()].filter(({ isEnded }) => !isEnded);
    const neededBytes = broadcasts.reduce((sum, { endBytes }) => sum + endBytes, KEPT_FREE_BYTES + addedBytes);
    return (await this.#deps.freeBytes()) < neededBytes;
  }

  /** Ends recordings that are too large, and all while there is room for their ends. */
  async #checkDisk(): Promise<void> {
    for (const broadcast of this.#broadcasts.values())
      if (broadcast.recordedBytes > this.#deps.maxBytes) broadcast.fail('too_large');
    try {
      if (this.#broadcasts.size === 0 || !(await this.#isDiskFull())) return;
      for (const broadcast of this.#broadcasts.values()) broadcast.fail('disk_full');
    } catch (error) {
      this.#deps.logger.warn({ err: error }, 'free space unknown');
    }
  }

  /** It goes on at another server. */
  #forget(liveStreamId: string, feed: LiveFeed | undefined): void {
    if (!feed) return;
    this.#byAsset.delete(feed.assetId);
    this.#recordings.delete(feed.assetId);
    if (this.#byStream.get(liveStreamId) === feed) this.#byStream.delete(liveStreamId);
    this.#deps.onChanged();
  }

  #forgetLater(liveStreamId: string, assetId: string): void {
    const ended = this.#byAsset.get(assetId);
    this.#after(STREAM_AFTER_END_MS, () => {
      if (this.#byStream.get(liveStreamId) === ended) this.#byStream.delete(liveStreamId);
      if (ended) this.#warnOfFailure(this.#deps.rungs.end(ended));
    });
    this.#after(ASSET_AFTER_END_MS, () => {
      this.#byAsset.delete(assetId);
      this.#recordings.delete(assetId);
      if (ended) this.#warnOfFailure(this.#deps.rungs.close(ended));
    });
  }

  #warnOfFailure(cleaning: Promise<void>): void {
    cleaning.catch((error: unknown) => this.#deps.logger.warn({ err: error }, 'files of live rungs not removed'));
  }

  #after(ms: number, run: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, ms);
    this.#timers.add(timer.unref());
  }
}

/** Whether the end of a broadcast is saved in time; true if there is none. */
const isSoon = (ending: Promise<boolean> | undefined): Promise<boolean> =>
  Promise.race([ending ?? Promise.resolve(true), pause(END_WAIT_MS, false, { ref: false })]);

const soonOf = (takeover: Promise<boolean>): Promise<boolean | 'reading'> =>
  Promise.race([takeover, pause(TAKEOVER_WAIT_MS, 'reading' as const, { ref: false })]);
