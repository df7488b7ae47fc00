import { availableParallelism } from 'node:os';
import type { CacheKey } from '../cache/cache-key.js';
import type { CachedFile } from '../cache/cached-files.js';
import type { SegmentStore } from '../cache/segment-store.js';
import type { Clock } from '../lib/clock.js';
import { KinoraError } from '../lib/errors.js';
import { audioChunkRange } from '../media/plan/audio-chunks.js';
import { AUDIO_RENDITION, findSegment, type SegmentTarget } from '../media/plan/find-segment.js';
import { GENERATION } from '../media/plan/generation.js';
import type { Plan } from '../media/plan/plan.js';
import { type MediaPool, type MediaPriority, mediaPriority } from '../pool/media-pool.js';
import type { Metrics } from '../telemetry/metrics.js';
import { FileProducer, type FileTask } from './file-producer.js';
import { packageAudioChunk } from './package-audio-chunk.js';
import { packageInit } from './package-init.js';
import { packageVideoSegment, type VideoSegmentDeps } from './package-video-segment.js';
import { type PlayableAsset, videoFileOf, videoKey } from './playable-asset.js';
import { ReadAhead } from './read-ahead.js';
import type { SegmentPeers } from './segment-peers.js';

export interface SegmentRequest {
  /** Ends this caller's wait. The work itself ends when nobody else waits for it. */
  readonly signal?: AbortSignal | undefined;
  /** The default is a viewer's priority. */
  readonly priority?: MediaPriority | undefined;
  /** Another server asked for it: no third one is asked, and nothing is read ahead. */
  readonly isForPeer?: boolean | undefined;
}

export interface SegmentProducerDeps extends VideoSegmentDeps {
  readonly cache: SegmentStore;
  readonly pool: MediaPool;
  /** Throws `unavailable` for a plan by which nothing may be produced any more. */
  readonly throwIfWithdrawn: (plan: Plan) => void;
  readonly clock: Clock;
  readonly metrics?: Metrics | undefined;
  /** Absent when this is the only server. */
  readonly peers?: SegmentPeers | undefined;
}

const WARM_FILES = ['init.mp4', '0.m4s', '1.m4s'];
const READ_AHEAD_IDLE_MS = 15_000;
const FRAMES = { video: true, audio: false };

/** Produces the segments of all renditions, and their init segments. */
export class SegmentProducer {
  private readonly files: FileProducer;
  private readonly readAhead: ReadAhead<PlayableAsset>;

  constructor(private readonly deps: SegmentProducerDeps) {
    this.files = new FileProducer(deps.cache, deps.pool, deps.clock);
    this.readAhead = new ReadAhead({
      produce: async (asset, rendition, number, signal) => {
        const target = findSegment(asset, rendition, `${number}.m4s`);
        if (target) await this.requestFile(asset, rendition, target, { signal, priority: mediaPriority.readAhead });
      },
      fetch: (asset, first, end) => {
        this.fetchVideo(asset, first, end).catch(() => undefined);
      },
      maxRunning: 4 * availableParallelism(),
      idleMs: READ_AHEAD_IDLE_MS,
    });
  }

  /**
   * Returns `init.mp4` or `<number>.m4s` of a video rendition or of `audio`, from the cache or
   * newly produced. A viewer's request also starts the following segments.
   * @throws KinoraError `not_found` (no such file in the plan), `media_failed`, `media_crashed`,
   * `cancelled`, `unavailable`
   */
  async segment(
    asset: PlayableAsset,
    rendition: string,
    file: string,
    request: SegmentRequest = {},
  ): Promise<CachedFile> {
    const { cache, clock, metrics } = this.deps;
    const target = findSegment(asset, rendition, file);
    if (!target) throw new KinoraError('not_found');
    const viewer = !request.isForPeer && (request.priority ?? mediaPriority.viewer) === mediaPriority.viewer;
    const isCached = viewer && cache.has({ assetId: asset.id, plan: GENERATION, rendition, file });
    const startedMs = clock.monotonicMs();
    if (viewer) metrics?.segmentRequested(isCached ? 'hit' : 'miss');
    const cached = await this.requestFile(asset, rendition, target, request);
    if (viewer && !isCached) metrics?.viewerWaited(clock.monotonicMs() - startedMs);
    if (viewer && target.kind === 'video' && target.number !== 'init') {
      this.readAhead.note(asset, rendition, target.number, target.video.boundaries.length - 1);
    }
    return cached;
  }

  /**
   * Produces what a player requests first from the named renditions, or by default from the start
   * rendition and its audio: two segments. It doesn't wait for the second one if that has to be
   * encoded.
   */
  async warm(asset: PlayableAsset, request: SegmentRequest, renditions?: readonly string[]): Promise<void> {
    const { video, audio } = asset.plan;
    const names = renditions ?? [...(video ? [video.startRendition] : []), ...(audio ? [AUDIO_RENDITION] : [])];
    const files = names.flatMap((name) =>
      WARM_FILES.flatMap((file) => {
        const target = findSegment(asset, name, file);
        return target ? { name, target } : [];
      }),
    );
    const start = ({ name, target }: (typeof files)[number], each: SegmentRequest) =>
      this.requestFile(asset, name, target, each);
    const awaited = files.filter(({ target }) => !isLateSegment(target)).map((file) => start(file, request));
    // If one fails, a viewer's request tries again.
    for (const file of files.filter(({ target }) => isLateSegment(target))) {
      start(file, { ...request, priority: mediaPriority.nextSegment }).catch(() => undefined);
    }
    await Promise.all(awaited);
  }

  stop(): void {
    this.readAhead.stop();
  }

  private requestFile(
    asset: PlayableAsset,
    name: string,
    target: SegmentTarget,
    { signal, priority = mediaPriority.viewer, isForPeer }: SegmentRequest,
  ): Promise<CachedFile> {
    const { number } = target;
    const keyOf = (file: string): CacheKey => ({ assetId: asset.id, plan: GENERATION, rendition: name, file });
    const key = keyOf(number === 'init' ? 'init.mp4' : `${number}.m4s`);
    const chunk = target.kind === 'audio' && number !== 'init' ? audioChunkRange(target.audio, number) : undefined;
    const chunkKeys = chunk
      ? Array.from({ length: chunk.end - chunk.first }, (_, i) => keyOf(`${chunk.first + i}.m4s`))
      : [key];
    const placedBy = chunk?.first ?? (number === 'init' ? 0 : number);
    const mayAsk = !asset.isOnlyHere && !isForPeer;
    const peers = mayAsk && this.deps.peers?.isRemote(asset.id, placedBy) ? this.deps.peers : undefined;
    const fromPeer = async ({ production, priority: urgency }: FileTask) => {
      const options = { signal: production.signal, priority: urgency };
      return peers?.get({ asset, rendition: name, file: key.file }, placedBy, options);
    };

    return this.files.get({
      key,
      // Other servers send the segments of a chunk one at a time.
      keys: peers ? [key] : chunkKeys,
      source: (target.kind === 'audio' && target.sourceKey) || videoFileOf(asset),
      priority,
      signal,
      packageFiles: async (task) => {
        this.deps.throwIfWithdrawn(asset.plan);
        const sent = await fromPeer(task);
        if (sent) return task.production.commit(key, sent);
        if (number === 'init') await packageInit(target, key, task);
        else if (target.kind === 'video') await packageVideoSegment(this.deps, { asset, ...target, number }, key, task);
        else await packageAudioChunk(this.deps, { asset, ...target, first: chunk!.first }, chunkKeys, task);
      },
    });
  }

  /**
   * Copies the part of a stored source that these segments are encoded from, also their audio where
   * it lies between their frames. Whoever needs it and does not find it fetches it again.
   */
  private async fetchVideo(asset: PlayableAsset, first: number, end: number): Promise<void> {
    const { blobs, sourceRanges } = this.deps;
    const { video } = asset.plan;
    if (!video || blobs.isLocal) return;
    const secondsOf = (number: number): number => video.boundaries[number]! / video.timescale;
    const span = { streams: FRAMES, fromSeconds: secondsOf(first), untilSeconds: secondsOf(end) };
    const need = await sourceRanges.ofVideo(asset, [span]);
    if (need?.isStored) await (await blobs.openLocal(videoKey(asset), need.ranges)).release();
  }
}

/** An encoded second segment: it takes long, and a player that has the first one can start. */
const isLateSegment = (target: SegmentTarget): boolean =>
  target.number === 1 && target.kind === 'video' && target.rendition.encoder !== undefined;
