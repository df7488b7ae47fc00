import { availableParallelism } from 'node:os';
import type { CachedFile, CacheKey, SegmentStore } from '../cache/segment-store.js';
import type { ByteRanges } from '../lib/byte-ranges.js';
import type { Clock } from '../lib/clock.js';
import { KinoraError } from '../lib/errors.js';
import { AAC_FRAME_SAMPLES } from '../media/codecs/aac.js';
import { nclxOf } from '../media/codecs/color-names.js';
import { writeAudioInit, writeVideoInit } from '../media/mp4/cmaf.js';
import {
  type AdditionalRenditions,
  AUDIO_RENDITION,
  findSegment,
  type SegmentTarget,
} from '../media/plan/find-segment.js';
import { GENERATION } from '../media/plan/generation.js';
import {
  type AudioPlan,
  isOriginal,
  type OriginalRendition,
  type Plan,
  type VideoPlan,
  type VideoRendition,
} from '../media/plan/plan.js';
import { type MediaPool, type MediaPriority, mediaPriority } from '../pool/media-pool.js';
import type { MediaSource } from '../pool/protocol.js';
import { readResult } from '../pool/read-result.js';
import type { BlobStore, LocalBlob } from '../storage/blob-store.js';
import { concatenatedKey, mezzanineKey, overlayKey, sourceKey } from '../storage/keys.js';
import type { Logger } from '../telemetry/logger.js';
import type { Metrics } from '../telemetry/metrics.js';
import type { EarlySources } from './early-sources.js';
import { createFileMaker, type Work } from './file-maker.js';
import { createReadAhead } from './read-ahead.js';
import { readSource } from './read-source.js';
import { audioChunkJob, audioChunkRange, tighterEncoder, videoConfigJob, videoSegmentJob } from './segment-jobs.js';
import { verifyAudioInit, verifyAudioSegment, verifyVideoInit, verifyVideoSegment } from './verify-segment.js';

/** What a segment is made from. */
export interface PlayableAsset {
  readonly id: string;
  readonly plan: Plan;
  readonly further?: AdditionalRenditions;
}

export interface SegmentRequest {
  /** Drops this caller's wait; the work ends when nobody else waits for it. */
  readonly signal?: AbortSignal;
  /** A viewer's when absent. */
  readonly priority?: MediaPriority;
}

export interface SegmentProducer {
  /**
   * `init.mp4` or `<number>.m4s` of a video rendition or of `audio`, from the cache or made now. A viewer's request also
   * starts the segments after it.
   * @throws KinoraError `not_found` (no such file in the plan), `media_failed`, `media_crashed`, `cancelled`, `unavailable`
   */
  segment(asset: PlayableAsset, rendition: string, file: string, request?: SegmentRequest): Promise<CachedFile>;
  /**
   * Makes what a player asks for first of the named renditions: of the start rendition and the audio beside it where none
   * is named.
   */
  warm(asset: PlayableAsset, request: SegmentRequest, renditions?: readonly string[]): Promise<void>;
  stop(): void;
}

export interface SegmentProducerDeps {
  readonly store: SegmentStore;
  readonly pool: MediaPool;
  readonly blobs: BlobStore;
  readonly earlySources: Pick<EarlySources, 'rangesOf'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: Metrics;
}

const WARM_SEGMENTS = 2;
const MAX_SIZE_TRIES = 4;
/** Several times what eight seconds of the best copied source have. */
const MAX_SEGMENT_BYTES = 256 * 2 ** 20;
const FRAMES = { video: true, audio: false };
const AUDIO = { video: false, audio: true };
const READ_AHEAD_IDLE_MS = 15_000;

export const createSegmentProducer = (deps: SegmentProducerDeps): SegmentProducer => {
  const { store, pool, blobs, clock, logger, earlySources } = deps;
  const maker = createFileMaker({ store, pool, clock });

  const makeVideo = async (
    asset: PlayableAsset,
    { video, rendition, number }: { video: VideoPlan; rendition: VideoRendition; number: number },
    key: CacheKey,
    work: Work,
  ): Promise<void> => {
    const fromSeconds = video.boundaries[number]! / video.timescale;
    const untilSeconds = video.boundaries[number + 1]! / video.timescale;
    const seconds = untilSeconds - fromSeconds;
    const needed = earlySources.rangesOf(asset.id, [{ streams: FRAMES, fromSeconds, untilSeconds }]);
    await readSource(
      (ranges) => openFrames(blobs, asset, ranges),
      needed,
      async ({ source, overlayPaths }) => {
        let encoder = rendition.encoder;
        for (let attempt = 1; ; attempt++) {
          const outPath = work.production.temporaryPath();
          const target = { source, overlayPaths, outPath, ...(encoder && { encoder }) };
          const result = await work.run(videoSegmentJob(video, rendition, number, target));
          const bytes = await readResult(outPath, MAX_SEGMENT_BYTES);
          const difference = verifyVideoSegment(bytes, video, rendition, number, result);
          if (difference > 0) {
            logger.warn({ asset_id: asset.id, segment: number, difference }, 'segment frame count differs from plan');
          }
          const factor = (bytes.length * 8) / seconds / rendition.bandwidth;
          if (factor <= 1 || !encoder) return await work.production.commit(key, bytes);
          const fields = { asset_id: asset.id, rendition: rendition.name, segment: number, factor, attempt };
          if (attempt === MAX_SIZE_TRIES) {
            // Larger than promised is still better for a viewer than a hole.
            logger.warn(fields, 'segment still exceeds bandwidth');
            return await work.production.commit(key, bytes);
          }
          logger.info(fields, 'segment exceeds bandwidth, encoding again');
          encoder = tighterEncoder(encoder, factor, attempt);
        }
      },
    );
  };

  const makeAudio = async (
    asset: PlayableAsset,
    { audio, sourceKey: alternateKey }: { audio: AudioPlan; sourceKey?: string },
    keys: readonly CacheKey[],
    first: number,
    work: Work,
  ): Promise<void> => {
    const file = alternateKey ?? playedKey(asset);
    const [fromSeconds, untilSeconds] = [first, first + keys.length].map(
      (segment) => (audio.boundaries[segment]! * AAC_FRAME_SAMPLES) / audio.sampleRate,
    ) as [number, number];
    const needed = alternateKey
      ? undefined
      : earlySources.rangesOf(asset.id, [{ streams: AUDIO, fromSeconds, untilSeconds }]);
    await readSource(
      (ranges) => blobs.openLocal(file, ranges),
      needed,
      async (blob) => {
        const outPaths = keys.map(() => work.production.temporaryPath());
        await work.run(audioChunkJob(audio, first, readPart(blob), outPaths));
        const segments = await Promise.all(outPaths.map((path) => readResult(path, MAX_SEGMENT_BYTES)));
        for (const [index, bytes] of segments.entries()) verifyAudioSegment(bytes, audio, first + index);
        for (const [index, bytes] of segments.entries()) await work.production.commit(keys[index]!, bytes);
      },
    );
  };

  const makeInit = async (target: SegmentTarget, key: CacheKey, work: Work): Promise<void> => {
    const bytes = target.kind === 'audio' ? audioInit(target.audio) : await videoInit(target, work);
    await work.production.commit(key, bytes);
  };

  const videoInit = async (
    { video, rendition }: { video: VideoPlan; rendition: VideoRendition },
    work: Work,
  ): Promise<Uint8Array> => {
    const { width, height, encoder, reorderTicks } = rendition;
    if (isOriginal(rendition)) {
      const bytes = originalInit(video, rendition);
      verifyVideoInit(bytes, video, rendition);
      return bytes;
    }
    const avcc = encoder ? (await work.run(videoConfigJob(video, rendition, encoder))).avcc : rendition.avcc;
    if (avcc === undefined) throw new Error(`rendition ${rendition.name} has neither encoder settings nor avcC`);
    const bytes = writeVideoInit({
      timescale: video.timescale,
      width,
      height,
      avcc: Buffer.from(avcc, 'base64'),
      // A copy keeps the colors of its source, which its own headers describe.
      ...(encoder && { color: 'bt709' as const }),
      reorderTicks,
    });
    verifyVideoInit(bytes, video, rendition);
    return bytes;
  };

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
    const keys = chunk ? Array.from({ length: chunk.end - chunk.first }, (_, i) => keyOf(chunk.first + i)) : [key];

    return maker.make({
      key,
      keys,
      source: (target.kind === 'audio' && target.sourceKey) || videoFileOf(asset),
      priority,
      ...(signal && { signal }),
      produce: async (work) => {
        if (number === 'init') await makeInit(target, key, work);
        else if (target.kind === 'video') await makeVideo(asset, { ...target, number }, key, work);
        else await makeAudio(asset, target, keys, chunk!.first, work);
      },
    });
  };

  const readAhead = createReadAhead<PlayableAsset>({
    make: async (asset, rendition, number, signal) => {
      const target = findSegment(asset, rendition, `${number}.m4s`);
      if (target) await make(asset, rendition, target, { signal, priority: mediaPriority.readAhead });
    },
    maxUnderWay: 4 * availableParallelism(),
    idleMs: READ_AHEAD_IDLE_MS,
  });

  return {
    async segment(asset, rendition, file, request = {}) {
      const target = findSegment(asset, rendition, file);
      if (!target) throw new KinoraError('not_found');
      const viewer = (request.priority ?? mediaPriority.viewer) === mediaPriority.viewer;
      if (viewer) {
        const isCached = store.has({ assetId: asset.id, plan: GENERATION, rendition, file });
        deps.metrics?.segmentRequested(isCached ? 'hit' : 'miss');
      }
      const cached = await make(asset, rendition, target, request);
      if (viewer && target.kind === 'video' && target.number !== 'init') {
        readAhead.note(asset, rendition, target.number, target.video.boundaries.length - 1);
      }
      return cached;
    },
    async warm(asset, request, renditions) {
      const { video, audio } = asset.plan;
      const names = renditions ?? [...(video ? [video.startRendition] : []), ...(audio ? [AUDIO_RENDITION] : [])];
      const files = ['init.mp4', ...Array.from({ length: WARM_SEGMENTS }, (_, number) => `${number}.m4s`)];
      const wanted = names.flatMap((name) => files.map((file) => ({ name, target: findSegment(asset, name, file) })));
      await Promise.all(wanted.map(({ name, target }) => target && make(asset, name, target, request)));
    },
    stop: () => readAhead.stop(),
  };
};

/** Under whose name the source lies. */
const ownerOf = ({ id, plan }: PlayableAsset): string => plan.sourceOwner ?? id;

/** The file that audio is read from, and frames unless there is a mezzanine. */
export const playedKey = (asset: PlayableAsset): string =>
  asset.plan.concatenated ? concatenatedKey(ownerOf(asset)) : sourceKey(ownerOf(asset));

/** The file that frames are read from. */
export const videoKey = (asset: PlayableAsset): string =>
  asset.plan.video?.access === 'mezzanine' ? mezzanineKey(ownerOf(asset)) : playedKey(asset);

/** The files that frames are made of, while they may be read. */
export interface OpenFrames {
  readonly source: Pick<MediaSource, 'path' | 'staged'>;
  /** In the order of the plan. */
  readonly overlayPaths: readonly string[];
  release(): Promise<void>;
}

/** @throws KinoraError `not_found` when the asset was deleted meanwhile */
export const openFrames = async (blobs: BlobStore, asset: PlayableAsset, needed?: ByteRanges): Promise<OpenFrames> => {
  const { video } = asset.plan;
  const overlayKeys = (video?.filters.overlays ?? []).map(({ assetId, input }) => overlayKey(assetId, input));
  const opened: LocalBlob[] = [];
  const release = async (): Promise<void> => {
    await Promise.all(opened.map((blob) => blob.release()));
  };
  try {
    opened.push(await blobs.openLocal(videoKey(asset), needed));
    for (const key of overlayKeys) opened.push(await blobs.openLocal(key));
  } catch (error) {
    await release();
    throw error;
  }
  return { source: readPart(opened[0]!), overlayPaths: opened.slice(1).map(({ path }) => path), release };
};

/** What a job is told of a file that it reads. */
const readPart = ({ path, staged }: LocalBlob): Pick<MediaSource, 'path' | 'staged'> => ({
  path,
  ...(staged && { staged }),
});

/** Its name: a source that kills media processes says nothing about the mezzanine made of it. */
export const videoFileOf = (asset: PlayableAsset): string =>
  `${ownerOf(asset)} ${asset.plan.video?.access ?? 'source'}`;

const originalInit = ({ timescale, filters }: VideoPlan, rendition: OriginalRendition): Uint8Array => {
  const { width, height, original, reorderTicks } = rendition;
  const nclx = nclxOf(filters.color);
  const config = Buffer.from(original.config, 'base64');
  return writeVideoInit({
    timescale,
    width,
    height,
    codec: original.codec,
    config,
    ...(nclx && { nclx }),
    reorderTicks,
  });
};

const audioInit = (audio: AudioPlan): Uint8Array => {
  const { sampleRate, channels, audioSpecificConfig } = audio;
  const bytes = writeAudioInit({
    sampleRate,
    channels,
    audioSpecificConfig: Buffer.from(audioSpecificConfig, 'base64'),
  });
  verifyAudioInit(bytes, audio);
  return bytes;
};
