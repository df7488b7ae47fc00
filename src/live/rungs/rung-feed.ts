import type { LiveFeed, LiveStills, LiveSubtitles } from '../../domain/playback/live-feed.js';
import { isKinoraError } from '../../lib/errors.js';
import type { ClosedCaptions } from '../../media/captions/caption-decoder.js';
import type { LiveSegment, LiveTimes, LiveTrackState } from '../../media/live/live-track.js';
import type { LiveRungsPlan } from '../../media/plan/live-rungs.js';
import type { FileProducer } from '../../packager/file-producer.js';
import { makeRungSegment } from './rung-maker.js';
import { RungSession, type RungSessionDeps } from './rung-session.js';
import type { RungTrack } from './rung-track.js';

export interface RungFeedDeps extends RungSessionDeps {
  readonly files: FileProducer;
}

interface RungFeedParts {
  readonly plan: LiveRungsPlan;
  /** Highest first. */
  readonly tracks: readonly RungTrack[];
  /** See `LiveRungsPlan`. */
  readonly replacement: RungTrack | undefined;
  readonly stills: LiveStills;
}

/** How often a wait looks at the recorded track by itself. */
const LOOK_MS = 1_000;

/** A recording with rungs, which are encoded only while somebody waits for them or reads them. */
export class RungFeed implements LiveFeed {
  readonly stills: LiveStills;
  readonly #deps: RungFeedDeps;
  readonly #feed: LiveFeed;
  /** The name of the recorded video in the recording. */
  readonly #copyName: string;
  readonly #plan: LiveRungsPlan;
  readonly #videoNames: readonly string[];
  readonly #tracks: ReadonlyMap<string, RungTrack>;
  readonly #waiting = new Set<() => void>();
  readonly #replacement: RungTrack | undefined;
  /** The number of the first segment that the replacement shows; absent while it shows none. */
  #replacedFrom: number | undefined;
  /** Segments of the recorded video that players can start with. */
  #startable = 0;
  #session: RungSession | undefined;
  #isStopped = false;
  /** What is shown of the recorded video, and of what it was made. */
  #copy:
    | { readonly of: LiveTrackState; readonly rest: LiveTrackState | undefined; readonly state: LiveTrackState }
    | undefined;

  constructor(
    deps: RungFeedDeps,
    feed: LiveFeed,
    copyName: string,
    { plan, tracks, replacement, stills }: RungFeedParts,
  ) {
    this.stills = stills;
    this.#deps = deps;
    this.#feed = feed;
    this.#copyName = copyName;
    this.#plan = plan;
    this.#tracks = new Map(tracks.map((track) => [track.rung.name, track]));
    this.#replacement = replacement;
    const copy = plan.copyName === undefined ? [] : [plan.copyName];
    const rungs = tracks.map(({ rung }) => rung.name);
    this.#videoNames = plan.obstacle === undefined ? [...copy, ...rungs] : [...rungs, ...copy];
  }

  /** Audio may begin later. */
  get trackNames(): readonly string[] {
    return [...this.#videoNames, ...this.#feed.trackNames.filter((name) => name !== this.#copyName)];
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

  get subtitles(): LiveSubtitles | undefined {
    return this.#feed.subtitles;
  }

  get captions(): readonly ClosedCaptions[] {
    return this.#feed.captions;
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
    const rung = this.#encoded(name);
    if (!rung) return this.#feed.waitFor(this.#nameOf(name), segment, part, options);
    this.#touch(rung);
    const isThere = (): boolean => {
      // Who waits is still watching, however long it takes.
      rung.touchedMs = this.#deps.clock.monotonicMs();
      const { segments, ended } = this.track(name)!;
      const awaited = segments[segment - (segments[0]?.number ?? segment)];
      return ended || awaited?.complete === true || (part !== undefined && (awaited?.parts.length ?? 0) > part);
    };
    return this.#wait(isThere, options);
  }

  init(name: string, config: number): Uint8Array | undefined {
    const rung = this.#encoded(name);
    if (rung?.config === config) return rung.init;
    return this.#tracks.has(name) ? undefined : this.#feed.init(this.#nameOf(name), config);
  }

  async read(name: string, segment: number, part?: number): Promise<Uint8Array | undefined> {
    const track = this.#encoded(name, segment);
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
    const at = this.#findReplaced(of.segments);
    const rest = at === undefined ? undefined : this.#replacement;
    rest?.update(of);
    if (this.#copy?.of !== of || this.#copy.rest !== rest?.state) {
      const bandwidth = Math.max(of.info.bandwidth, this.#plan.leastBandwidth);
      const info = { ...of.info, name: this.#plan.copyName!, bandwidth };
      const segments = rest ? [...of.segments.slice(0, at), ...rest.state.segments.slice(at)] : of.segments;
      const state = { ...of, info, segments, ended: (rest?.state ?? of).ended };
      this.#copy = { of, rest: rest?.state, state };
    }
    return this.#copy.state;
  }

  /**
   * The index of the first segment that the replacement shows. The others, which players have seen,
   * stay. A discontinuity would have to be one of all tracks (RFC 8216, 6.2.4); times continue.
   */
  #findReplaced(segments: readonly LiveSegment[]): number | undefined {
    if (!this.#replacement) return undefined;
    while (segments[this.#startable]?.independent) this.#startable += 1;
    const replaced = segments[this.#startable];
    if (!replaced) return undefined;
    this.#replacedFrom = replaced.number;
    this.#replacement.config = (segments[this.#startable - 1]?.config ?? -1) + 1;
    return this.#startable;
  }

  /** The rung that shows a segment of the track, or its newest one. */
  #encoded(name: string, segment = Number.POSITIVE_INFINITY): RungTrack | undefined {
    if (name !== this.#plan.copyName || !this.#replacement) return this.#tracks.get(name);
    this.#describeCopy();
    const isReplaced = this.#replacedFrom !== undefined && segment >= this.#replacedFrom;
    return isReplaced ? this.#replacement : undefined;
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
      tracks: [...(this.#replacement ? [this.#replacement] : []), ...this.#tracks.values()],
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
