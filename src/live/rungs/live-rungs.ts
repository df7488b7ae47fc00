import { rm, writeFile } from 'node:fs/promises';
import { isLiveRendition } from '../../cache/cache-key.js';
import type { SegmentStore } from '../../cache/segment-store.js';
import type { LiveFeed } from '../../domain/playback/live-feed.js';
import { withTemporaryFile } from '../../lib/temporary-file.js';
import { writeVideoInit } from '../../media/mp4/cmaf.js';
import { verifyInit } from '../../media/mp4/fragment-verifier.js';
import type { Rung } from '../../media/plan/ladder.js';
import { type LiveRungsPlan, planLiveRungs } from '../../media/plan/live-rungs.js';
import type { VideoFacts } from '../../media/source/source-facts.js';
import { FileProducer } from '../../packager/file-producer.js';
import { type MediaPool, mediaPriority } from '../../pool/media-pool.js';
import { RecordedStills } from './recorded-stills.js';
import { RungFeed, type RungFeedDeps } from './rung-feed.js';
import { RungTrack } from './rung-track.js';

export interface LiveRungsDeps extends Omit<RungFeedDeps, 'files' | 'pool'> {
  readonly pool: MediaPool;
  readonly store: SegmentStore;
  /** The most rungs beside the recorded video; 0 for none. */
  readonly maxRungs: number;
}

export interface LiveRungsOptions {
  /** Burns the mark of test assets into every frame: nothing is shown as it was recorded. */
  readonly isTest: boolean;
  /** Of the recorded video, if it was probed before: a probe takes a process of its own. */
  readonly video?: VideoFacts | undefined;
  readonly onProbed?: (video: VideoFacts) => void;
}

const LIMITS = { maxPixels: 8192 * 4352, maxStreams: 1 };

/** Adds rungs to what is recorded. */
export class LiveRungs {
  readonly #deps: LiveRungsDeps;
  readonly #files: FileProducer;
  readonly #feeds = new Set<RungFeed>();

  constructor(deps: LiveRungsDeps) {
    this.#deps = deps;
    this.#files = new FileProducer(deps.store, deps.pool, deps.clock);
  }

  /**
   * The recording with its rungs. Call it when the first segment, or three parts of it, are there;
   * takes a few media jobs. Returns the recording itself when it has no video, or when it can't be
   * decoded. The caller stops the feed after the broadcast.
   */
  async open(feed: LiveFeed, { isTest, video: known, onProbed }: LiveRungsOptions): Promise<LiveFeed> {
    const copy = feed.trackNames.map((name) => feed.track(name)!).find(({ info }) => info.kind === 'video');
    if (!copy) return feed;
    const { name } = copy.info;
    try {
      const video = known ?? (await this.#probe(feed, name));
      if (!video) return feed;
      if (!known) onProbed?.(video);
      const { maxRungs } = this.#deps;
      const plan = planLiveRungs({ video, bandwidth: copy.info.bandwidth, isTest, maxRungs });
      const { timescale, frameRate = 30 } = copy.info;
      const toTrack = async (rung: Rung): Promise<RungTrack> =>
        new RungTrack(rung, await this.#init(rung, plan, timescale), timescale, frameRate / rung.frameStep);
      const [tracks, replacement] = await Promise.all([
        Promise.all(plan.rungs.map(toTrack)),
        plan.replacement && toTrack(plan.replacement),
      ]);
      const names = tracks.map(({ rung }) => rung.name);
      const { logger } = this.#deps;
      logger.info({ asset_id: feed.assetId, rungs: names, obstacle: plan.obstacle }, 'live rungs planned');
      const { filters, size } = plan;
      const stills = new RecordedStills(this.#deps, { feed, copyName: name, filters, size });
      const deps = { ...this.#deps, files: this.#files };
      const rungs = new RungFeed(deps, feed, name, { plan, tracks, replacement, stills });
      this.#feeds.add(rungs);
      return rungs;
    } catch (error) {
      this.#deps.logger.warn({ err: error, asset_id: feed.assetId }, 'live stream has no rungs');
      return feed;
    }
  }

  /** A while after the end of a broadcast: what viewers still ask for is made on request. */
  async end(feed: LiveFeed): Promise<void> {
    if (feed instanceof RungFeed) await feed.stop();
  }

  /** Nobody asks for the rungs of a broadcast any more. */
  async close(feed: LiveFeed): Promise<void> {
    if (!(feed instanceof RungFeed)) return;
    this.#feeds.delete(feed);
    await feed.stop();
    await this.#removeFiles((assetId) => assetId === feed.assetId);
  }

  /** Removes what an earlier process has left, but for broadcasts that go on. */
  sweep(goesOn: (assetId: string) => boolean): Promise<void> {
    return this.#removeFiles((assetId) => !goesOn(assetId));
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#feeds].map((feed) => feed.stop()));
  }

  async #removeFiles(isUnwanted: (assetId: string) => boolean): Promise<void> {
    const { store } = this.#deps;
    await store.removeRenditions((assetId, rendition) => isLiveRendition(rendition) && isUnwanted(assetId));
  }

  async #probe(feed: LiveFeed, name: string): Promise<VideoFacts | undefined> {
    const segment = feed.track(name)!.segments.find(({ gap }) => !gap);
    const init = segment && feed.init(name, segment.config);
    if (!init) return undefined;
    // Older segments list no parts, and the first one may not be complete yet.
    const media = segment.complete
      ? [await feed.read(name, segment.number)]
      : await Promise.all(segment.parts.map((_, part) => feed.read(name, segment.number, part)));
    const bytes = Buffer.concat([init, ...media.filter((part) => part !== undefined)]);
    return withTemporaryFile(this.#deps.temporaryDir, async (path) => {
      await writeFile(path, bytes);
      const options = { priority: mediaPriority.viewer, fresh: true };
      const { video } = await this.#deps.pool.run({ kind: 'probe', source: { path }, ...LIMITS }, options);
      await rm(path, { force: true });
      return video;
    });
  }

  async #init({ width, height, encoder, frameStep, codecs }: Rung, plan: LiveRungsPlan, timescale: number) {
    const { num, den } = plan.frameRate;
    const { avcc } = await this.#deps.pool.run(
      { kind: 'video-config', width, height, frameRate: { num, den: den * frameStep }, encoder },
      { priority: mediaPriority.viewer },
    );
    const init = writeVideoInit({ timescale, width, height, color: 'bt709', avcc: Buffer.from(avcc, 'base64') });
    verifyInit(init, { timescale, codecs, width, height });
    return init;
  }
}
