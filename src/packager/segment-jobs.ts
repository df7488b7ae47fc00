import {
  type AudioPlan,
  type EncoderSettings,
  isOriginal,
  type VideoPlan,
  type VideoRendition,
} from '../media/plan/plan.js';
import type { AudioChunkJob, MediaSource, VideoConfigJob, VideoSegmentJob } from '../pool/protocol.js';

/** Pure functions from the plan to the parameters of one media process for one segment. */

/**
 * The same for every segment and image on every machine: with other numbers, damaged sources may
 * decode to other frames.
 */
export const MEDIA_THREADS = 2;

export interface VideoJobTarget {
  /** The file that frames are read from; see `MediaSource`. */
  readonly source: Pick<MediaSource, 'path' | 'staged'>;
  readonly overlayPaths: readonly string[];
  readonly outPath: string;
  /** Replaces the rendition's settings when a segment must become smaller. */
  readonly encoder?: EncoderSettings;
}

export const videoSegmentJob = (
  video: VideoPlan,
  rendition: VideoRendition,
  number: number,
  target: VideoJobTarget,
): VideoSegmentJob => {
  const seekPoint = video.seekPoints?.[number];
  const encoder = target.encoder ?? rendition.encoder;
  return {
    kind: 'video-segment',
    source: { ...target.source, formatName: video.formatName },
    streamIndex: video.streamIndex,
    timeBase: video.timeBase,
    originTicks: video.originTicks,
    startTicks: video.boundaries[number]!,
    endTicks: video.boundaries[number + 1]!,
    lastFrameTicks: video.lastFrameTicks,
    // A growing plan ends before its last frame.
    isLast: number === video.boundaries.length - 2 && video.lastFrameTicks < video.boundaries.at(-1)!,
    ...(video.firstFrameTicks !== undefined && { firstFrameTicks: video.firstFrameTicks }),
    ...(seekPoint && { seekPoint }),
    sequence: number + 1,
    rendition: {
      kind: rendition.kind,
      width: rendition.width,
      height: rendition.height,
      frameStep: rendition.frameStep,
      frameRate: video.frameRate,
      filters: video.filters,
      ...(encoder && { encoder }),
      ...(rendition.reorderTicks !== undefined && { reorderTicks: rendition.reorderTicks }),
      ...(isOriginal(rendition) && { codec: rendition.original.codec }),
    },
    ...(target.overlayPaths.length > 0 && { overlayPaths: target.overlayPaths }),
    threads: MEDIA_THREADS,
    outPath: target.outPath,
  };
};

export const videoConfigJob = (
  video: VideoPlan,
  rendition: VideoRendition,
  encoder: EncoderSettings,
): VideoConfigJob => ({
  kind: 'video-config',
  width: rendition.width,
  height: rendition.height,
  frameRate: { num: video.frameRate.num, den: video.frameRate.den * rendition.frameStep },
  encoder,
});

export const audioChunkJob = (
  plan: AudioPlan,
  first: number,
  source: Pick<MediaSource, 'path' | 'staged'>,
  outPaths: readonly string[],
): AudioChunkJob => {
  const { boundaries, ...audio } = plan;
  return {
    kind: 'audio-chunk',
    source: { ...source, formatName: audio.formatName },
    audio,
    firstSegment: first,
    boundaries: boundaries.slice(first, first + outPaths.length + 1),
    endFrame: boundaries.at(-1)!,
    outPaths,
  };
};

/**
 * Settings for another try at a segment that is `factor` times larger than its rendition promises:
 * lower quality for AV1, which has no peak; for H.264 a lower peak and, from the second time on,
 * lower quality, because a lower peak does not limit the first seconds of a rate buffer.
 */
export const tighterEncoder = (encoder: EncoderSettings, factor: number, attempt: number): EncoderSettings =>
  encoder.codec === 'av1'
    ? { ...encoder, crf: Math.min(MAX_AV1_CRF, encoder.crf + Math.ceil(AV1_CRF_TO_HALVE * Math.log2(factor)) + 1) }
    : {
        ...encoder,
        maxRate: Math.floor((encoder.maxRate * 0.9) / factor),
        crf: Math.min(40, encoder.crf + (attempt > 1 ? 6 : 0)),
      };

const MAX_AV1_CRF = 63;
/** How much more CRF halves what AV1 takes. */
const AV1_CRF_TO_HALVE = 9;
