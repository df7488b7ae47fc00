import type { LiveFeed, LiveStills } from '../../domain/playback/live-feed.js';
import { isKinoraError } from '../../lib/errors.js';
import type { LiveTimes, LiveTrackState } from '../../media/live/live-track.js';
import type { LiveRungsPlan } from '../../media/plan/live-rungs.js';
import type { FileProducer } from '../../packager/file-producer.js';
import { makeRungSegment } from './rung-maker.js';
import { RungSession, type RungSessionDeps } from './rung-session.js';
import type { RungTrack } from './rung-track.js';

export interface RungFeedDeps extends RungSessionDeps {
  readonly files: FileProducer;
}

/** How often a wait looks at the recorded track by itself. */
const LOOK_MS = 1_000;

/** A recording with rungs, which are encoded only while somebody waits for them or reads them. */
export class RungFeed implements LiveFeed {
  readonly trackNames: readonly string[];
  readonly stills: LiveStills;
  readonly #deps: RungFeedDeps;
  readonly #feed: LiveFeed;
  /** The name of the recorded video in the recording. */
  readonly #copyName: string;
  readonly #plan: LiveRungsPlan;
  readonly #tracks: ReadonlyMap<string, RungTrack>;
  readonly #waiting = new Set<() => void>();
  #session: RungSession | undefined;
  #isStopped = false;
  #copy: { readonly of: LiveTrackState; readonly state: LiveTrackState } | undefined;

  constructor(
    deps: RungFeedDeps,
    feed: LiveFeed,
    copyName: string,
    {
      plan,
      tracks,
      stills,
    }: { readonly plan: LiveRungsPlan; readonly tracks: readonly RungTrack[]; readonly stills: LiveStills },
  ) {
    this.stills = stills;
    this.#deps = deps;
    this.#feed = feed;
    this.#copyName = copyName;
    this.#plan = plan;
    this.#tracks = new Map(tracks.map((track) => [track.rung.name, track]));
    const others = feed.trackNames.filter((name) => name !== copyName);
    const copy = plan.copyName === undefined ? [] : [plan.copyName];
    const rungs = tracks.map(({ rung }) => rung.name);
    this.trackNames = plan.obstacle === undefined ? [...copy, ...rungs, ...others] : [...rungs, ...copy, ...others];
  }

  get assetId(): string {
    return this.#feed.assetId;
  }

  get times(): LiveTimes {
    return this.#feed.times;
  }

  get firstDiscontinuity(): number {
    return this.#feed.firstDiscontinuity;
  }

  track(name: string): LiveTrackState | undefined {
    const rung = this.#tracks.get(name);
    if (rung) {
      rung.update(this.#feed.track(this.#copyName)!);
      return rung.state;
    }
    return name === this.#plan.copyName ? this.#describeCopy() : this.#other(name);
  }

  async waitFor(
    name: string,
    segment: number,
    part: number | undefined,
    options: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<boolean> {
    const rung = this.#tracks.get(name);
    if (!rung) return this.#feed.waitFor(this.#nameOf(name), segment, part, options);
    this.#touch(rung);
    const isThere = (): boolean => {
      const { segments, ended } = this.track(name)!;
      const awaited = segments[segment - (segments[0]?.number ?? segment)];
      return ended || awaited?.complete === true || (part !== undefined && (awaited?.parts.length ?? 0) > part);
    };
    return this.#wait(isThere, options);
  }

  init(name: string, config: number): Uint8Array | undefined {
    const rung = this.#tracks.get(name);
    if (!rung) return this.#feed.init(this.#nameOf(name), config);
    return config === 0 ? rung.init : undefined;
  }

  async read(name: string, segment: number, part?: number): Promise<Uint8Array | undefined> {
    const track = this.#tracks.get(name);
    if (!track) return this.#feed.read(this.#nameOf(name), segment, part);
    this.#touch(track);
    this.track(name);
    const bytes = track.read(segment, part);
    if (bytes || part !== undefined) return bytes;
    try {
      const source = { copyName: this.#copyName, plan: this.#plan, track };
      return await makeRungSegment(this.#deps.files, this.#feed, source, segment);
    } catch (error) {
      if (isKinoraError(error, 'not_found')) return undefined;
      throw error;
    }
  }

  /** Ends the media process and forgets what it made. What was recorded can still be read. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#session?.stop();
    for (const track of this.#tracks.values()) track.lose(0);
  }

  /** The recorded video announces more than the rung below it. */
  #describeCopy(): LiveTrackState {
    const of = this.#feed.track(this.#copyName)!;
    if (this.#copy?.of !== of) {
      const bandwidth = Math.max(of.info.bandwidth, this.#plan.leastBandwidth);
      const name = this.#plan.copyName!;
      this.#copy = { of, state: { ...of, info: { ...of.info, name, bandwidth } } };
    }
    return this.#copy.state;
  }

  /** A track that is neither the recorded video nor a rung. */
  #other(name: string): LiveTrackState | undefined {
    return name === this.#copyName ? undefined : this.#feed.track(name);
  }

  #nameOf(name: string): string {
    return name === this.#plan.copyName ? this.#copyName : name;
  }

  #touch(track: RungTrack): void {
    track.touchedMs = this.#deps.clock.monotonicMs();
    if (this.#session || this.#isStopped || this.#feed.track(this.#copyName)!.ended) return;
    const source = {
      feed: this.#feed,
      copyName: this.#copyName,
      plan: this.#plan,
      tracks: [...this.#tracks.values()],
    };
    const session = new RungSession(this.#deps, source, () => this.#notify());
    this.#session = session;
    void session.ended.then(() => {
      this.#session = undefined;
    });
  }

  #notify(): void {
    for (const look of this.#waiting) look();
  }

  #wait(isThere: () => boolean, { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal }): Promise<boolean> {
    if (isThere()) return Promise.resolve(true);
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.delete(look);
        clearTimeout(timer);
        clearInterval(interval);
        signal.removeEventListener('abort', abort);
      };
      const look = (): void => {
        if (!isThere()) return;
        leave();
        resolve(true);
      };
      const abort = (): void => {
        leave();
        reject(signal.reason);
      };
      const timer = setTimeout(() => {
        leave();
        resolve(isThere());
      }, timeoutMs);
      // Segments that are made on request appear with those of the recording.
      const interval = setInterval(look, LOOK_MS);
      if (signal.aborted) return abort();
      signal.addEventListener('abort', abort, { once: true });
      this.#waiting.add(look);
    });
  }
}
