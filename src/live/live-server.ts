import type { DisconnectReason, LiveControl } from '../domain/live/live-control.js';
import type { LiveSettings } from '../domain/live/live-settings.js';
import type { LiveStates } from '../domain/live/live-states.js';
import type { LiveFeed, LiveFeeds } from '../domain/playback/live-feed.js';
import type { Clock } from '../lib/clock.js';
import { isUnavailable } from '../lib/unavailable.js';
import type { BlobStore } from '../storage/blob-store.js';
import type { Logger } from '../telemetry/logger.js';
import { Broadcast } from './broadcast.js';
import type { IngestTarget, Publication, PublishRequest, Refusal } from './ingest.js';
import type { LiveRungs } from './rungs/live-rungs.js';

export interface LiveServerDeps {
  readonly blobs: BlobStore;
  readonly rungs: LiveRungs;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Viewers of a live stream learn of its end within this time. */
const STREAM_AFTER_END_MS = 60_000;
/** Viewers who rewound play on by the playlists of the broadcast. */
const ASSET_AFTER_END_MS = 12 * 60 * 60_000;

const DISCONNECTED: Record<DisconnectReason, string> = {
  disabled: 'The live stream is disabled.',
  deleted: 'The live stream was deleted.',
  'stream key reset': 'The stream key was reset.',
};

/** The live streams that this server receives: at most one broadcast of each. */
export class LiveServer implements IngestTarget, LiveFeeds, LiveControl {
  readonly #deps: LiveServerDeps;
  readonly #broadcasts = new Map<string, Broadcast>();
  readonly #byAsset = new Map<string, LiveFeed>();
  readonly #byStream = new Map<string, LiveFeed>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #states: LiveStates | undefined;

  constructor(deps: LiveServerDeps) {
    this.#deps = deps;
  }

  /** Continues the broadcasts that a stop of the server has interrupted, and accepts encoders. */
  async start(states: LiveStates): Promise<void> {
    const { logger } = this.#deps;
    this.#states = states;
    for (const { settings, assetId, isActive, recordingTimes: times } of await states.interrupted()) {
      const { liveStreamId } = settings;
      if (assetId === undefined) {
        await states.disconnected(liveStreamId, { recordingTimes: [] });
        continue;
      }
      try {
        await this.#broadcastOf(settings).resume(assetId, { isActive, times });
      } catch (error) {
        this.#broadcasts.delete(liveStreamId);
        logger.error({ err: error, live_stream_id: liveStreamId, asset_id: assetId }, 'live stream not continued');
      }
    }
  }

  async stop(limitMs: number): Promise<void> {
    this.#states = undefined;
    for (const timer of this.#timers) clearTimeout(timer);
    await Promise.all([...this.#broadcasts.values()].map((broadcast) => broadcast.suspend(limitMs)));
    await this.#deps.rungs.stop();
  }

  async publish(request: PublishRequest): Promise<Publication | Refusal> {
    try {
      const settings = await this.#states?.findByKey(request.streamKey);
      if (!this.#states) return { reason: 'unavailable', message: 'The server is restarting.' };
      if (!settings) return { reason: 'unknown_key', message: 'No live stream has this stream key.' };
      if (settings.status === 'disabled') return { reason: 'disabled', message: DISCONNECTED.disabled };
      return this.#broadcastOf(settings).connect(request);
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      return { reason: 'unavailable', message: 'The server can not check the stream key now. Try again.' };
    }
  }

  async complete(liveStreamId: string): Promise<void> {
    await this.#broadcasts.get(liveStreamId)?.complete();
  }

  async disconnect(liveStreamId: string, reason: DisconnectReason): Promise<void> {
    const broadcast = this.#broadcasts.get(liveStreamId);
    if (reason === 'stream key reset') broadcast?.closeConnection(DISCONNECTED[reason]);
    else await broadcast?.stop(DISCONNECTED[reason]);
  }

  ofAsset(assetId: string): LiveFeed | undefined {
    return this.#byAsset.get(assetId);
  }

  ofStream(liveStreamId: string): LiveFeed | undefined {
    return this.#byStream.get(liveStreamId);
  }

  #broadcastOf(settings: LiveSettings): Broadcast {
    const { liveStreamId } = settings;
    const current = this.#broadcasts.get(liveStreamId);
    if (current) return current;
    let assetId: string | undefined;
    const broadcast: Broadcast = new Broadcast(
      {
        ...this.#deps,
        states: this.#states!,
        onPlayable: (feed) => {
          assetId = feed.assetId;
          this.#byAsset.set(assetId, feed);
          this.#byStream.set(liveStreamId, feed);
        },
        onEnded: () => {
          if (this.#broadcasts.get(liveStreamId) === broadcast) this.#broadcasts.delete(liveStreamId);
          if (assetId !== undefined) this.#forgetLater(liveStreamId, assetId);
        },
      },
      settings,
    );
    this.#broadcasts.set(liveStreamId, broadcast);
    return broadcast;
  }

  #forgetLater(liveStreamId: string, assetId: string): void {
    const ended = this.#byAsset.get(assetId);
    this.#after(STREAM_AFTER_END_MS, () => {
      if (this.#byStream.get(liveStreamId) === ended) this.#byStream.delete(liveStreamId);
    });
    this.#after(ASSET_AFTER_END_MS, () => {
      this.#byAsset.delete(assetId);
      if (ended) void this.#deps.rungs.close(ended);
    });
  }

  #after(ms: number, run: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, ms);
    this.#timers.add(timer.unref());
  }
}
