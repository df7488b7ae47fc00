import { availableParallelism } from 'node:os';
import type { CachedFile, CacheKey, SegmentStore } from '../cache/segment-store.js';
import type { Clock } from '../lib/clock.js';
import { KinoraError } from '../lib/errors.js';
import { audioChunkRange } from '../media/plan/audio-chunks.js';
import { AUDIO_RENDITION, findSegment, type SegmentTarget } from '../media/plan/find-segment.js';
import { GENERATION } from '../media/plan/generation.js';
import type { Plan } from '../media/plan/plan.js';
import { type MediaPool, type MediaPriority, mediaPriority } from '../pool/media-pool.js';
import type { Metrics } from '../telemetry/metrics.js';
import { createFileMaker } from './file-maker.js';
import { makeAudioChunk } from './make-audio-chunk.js';
import { makeInit } from './make-init.js';
import { makeVideoSegment, type VideoSegmentDeps } from './make-video-segment.js';
import { type PlayableAsset, videoFileOf, videoKey } from './playable-asset.js';
import { createReadAhead } from './read-ahead.js';
import type { SegmentPeers } from './segment-peers.js';

export interface SegmentRequest {
  /** Ends this caller's wait. The work itself ends when nobody else waits for it. */
  readonly signal?: AbortSignal;
  /** The default is a viewer's priority. */
  readonly priority?: MediaPriority;
  /** Another server asked for it: no third one is asked, and nothing is read ahead. */
  readonly isForPeer?: boolean;
}

export interface SegmentProducer {
  /**
   * Returns `init.mp4` or `<number>.m4s` of a video rendition or of `audio`, from the cache or newly made. A viewer's
   * request also starts the following segments.
   * @throws KinoraError `not_found` (no such file in the plan), `media_failed`, `media_crashed`, `cancelled`,
   * `unavailable`
   */
  segment(asset: PlayableAsset, rendition: string, file: string, request?: SegmentRequest): Promise<CachedFile>;
  /**
   * Makes what a player requests first from the named renditions, or by default from the start rendition and its
   * audio: two segments. It doesn't wait for the second one if that has to be encoded.
   */
  warm(asset: PlayableAsset, request: SegmentRequest, renditions?: readonly string[]): Promise<void>;
  stop(): void;
}

export interface SegmentProducerDeps extends VideoSegmentDeps {
  readonly store: SegmentStore;
  readonly pool: MediaPool;
  /** Throws `unavailable` for a plan by which nothing may be made any more. */
  readonly throwIfWithdrawn: (plan: Plan) => void;
  readonly clock: Clock;
  readonly metrics?: Metrics;
  /** Absent when this is the only server. */
  readonly peers?: SegmentPeers;
}

const WARM_FILES = ['init.mp4', '0.m4s', '1.m4s'];
const READ_AHEAD_IDLE_MS = 15_000;
const FRAMES = { video: true, audio: false };

/** An encoded second segment: making it takes long, and a player that has the first one can start. */
const isLateSegment = (target: SegmentTarget): boolean =>
  target.number === 1 && target.kind === 'video' && target.rendition.encoder !== undefined;

/**
 * Copies the part of a stored source that these segments are made from, also their audio where it lies between their
 * frames. Whoever needs it and does not find it fetches it again.
 */
const fetchVideo = async (
  { blobs, sourceRanges }: Pick<SegmentProducerDeps, 'blobs' | 'sourceRanges'>,
  asset: PlayableAsset,
  first: number,
  end: number,
): Promise<void> => {
  const { video } = asset.plan;
  if (!video || blobs.isLocal) return;
  const [fromSeconds, untilSeconds] = [first, end].map((number) => video.boundaries[number]! / video.timescale) as [
    number,
    number,
  ];
  const need = await sourceRanges.ofVideo(asset, [{ streams: FRAMES, fromSeconds, untilSeconds }]);
  if (need?.isStored) await (await blobs.openLocal(videoKey(asset), need.ranges)).release();
};

export const createSegmentProducer = (deps: SegmentProducerDeps): SegmentProducer => {
  const { store } = deps;
  const maker = createFileMaker(deps);

  const make = (
    asset: PlayableAsset,
    name: string,
    target: SegmentTarget,
    request: SegmentRequest,
  ): Promise<CachedFile> => {
    const { signal, priority = mediaPriority.viewer } = request;
    const keyOf = (number: number | 'init'): CacheKey => ({
      assetId: asset.id,
      plan: GENERATION,
      rendition: name,
      file: number === 'init' ? 'init.mp4' : `${number}.m4s`,
    });
    const { number } = target;
    const key = keyOf(number);
    const chunk = target.kind === 'audio' && number !== 'init' ? audioChunkRange(target.audio, number) : undefined;
    const chunkKeys = chunk ? Array.from({ length: chunk.end - chunk.first }, (_, i) => keyOf(chunk.first + i)) : [key];
    const placedBy = chunk?.first ?? (number === 'init' ? 0 : number);
    const mayAsk = !asset.isLocal && !request.isForPeer;
    const peers = mayAsk && deps.peers?.isElsewhere(asset.id, placedBy) ? deps.peers : undefined;
    // Other servers send the segments of a chunk one at a time.
    const keys = peers ? [key] : chunkKeys;

    return maker.make({
      key,
      keys,
      source: (target.kind === 'audio' && target.sourceKey) || videoFileOf(asset),
      priority,
      ...(signal && { signal }),
      produce: async (work) => {
        deps.throwIfWithdrawn(asset.plan);
        const { production, priority: urgency } = work;
        const options = { signal: production.signal, priority: urgency };
        const sent = await peers?.get({ asset, rendition: name, file: key.file }, placedBy, options);
        if (sent) return production.commit(key, sent);
        if (number === 'init') await makeInit(target, key, work);
        else if (target.kind === 'video') await makeVideoSegment(deps, { asset, ...target, number }, key, work);
        else await makeAudioChunk(deps, { asset, ...target, first: chunk!.first }, chunkKeys, work);
      },
    });
  };

  const readAhead = createReadAhead<PlayableAsset>({
    make: async (asset, rendition, number, signal) => {
      const target = findSegment(asset, rendition, `${number}.m4s`);
      if (target) await make(asset, rendition, target, { signal, priority: mediaPriority.readAhead });
    },
    fetch: (asset, first, end) => {
      fetchVideo(deps, asset, first, end).catch(() => undefined);
    },
    maxUnderWay: 4 * availableParallelism(),
    idleMs: READ_AHEAD_IDLE_MS,
  });

  return {
    async segment(asset, rendition, file, request = {}) {
      const target = findSegment(asset, rendition, file);
      if (!target) throw new KinoraError('not_found');
      const viewer = !request.isForPeer && (request.priority ?? mediaPriority.viewer) === mediaPriority.viewer;
      const isCached = viewer && store.has({ assetId: asset.id, plan: GENERATION, rendition, file });
      const startedMs = deps.clock.monotonicMs();
      if (viewer) deps.metrics?.segmentRequested(isCached ? 'hit' : 'miss');
      const cached = await make(asset, rendition, target, request);
      if (viewer && !isCached) deps.metrics?.viewerWaited(deps.clock.monotonicMs() - startedMs);
      if (viewer && target.kind === 'video' && target.number !== 'init') {
        readAhead.note(asset, rendition, target.number, target.video.boundaries.length - 1);
      }
      return cached;
    },
    async warm(asset, request, renditions) {
      const { video, audio } = asset.plan;
      const names = renditions ?? [...(video ? [video.startRendition] : []), ...(audio ? [AUDIO_RENDITION] : [])];
      const files = names.flatMap((name) =>
        WARM_FILES.flatMap((file) => {
          const target = findSegment(asset, name, file);
          return target ? { name, target } : [];
        }),
      );
      const start = ({ name, target }: (typeof files)[number], each: SegmentRequest) => make(asset, name, target, each);
      const awaited = files.filter(({ target }) => !isLateSegment(target)).map((file) => start(file, request));
      // If one fails, a viewer's request makes it again.
      for (const file of files.filter(({ target }) => isLateSegment(target))) {
        start(file, { ...request, priority: mediaPriority.nextSegment }).catch(() => undefined);
      }
      await Promise.all(awaited);
    },
    stop: () => readAhead.stop(),
  };
};
