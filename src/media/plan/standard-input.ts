import { hasOpenGops, longestGopTicks } from '../source/frames.js';
import type { SourceFacts, VideoFacts } from '../source/source-facts.js';
import type { SourceIndex, StreamIndex } from '../source/source-index.js';
import type { ResolutionTier } from './ladder.js';
import { MAX_GOP_SECONDS } from './mezzanine-decision.js';

/** `non_standard_input_reasons` of an asset, names as on the wire: only the failing fields. */
export type NonStandardReasons = Partial<
  Record<
    | 'video_codec'
    | 'video_resolution'
    | 'video_frame_rate'
    | 'video_gop_size'
    | 'video_bitrate'
    | 'unsupported_pixel_format'
    | 'pixel_aspect_ratio'
    | 'video_edit_list'
    | 'audio_edit_list'
    | 'audio_codec'
    | 'unexpected_media_file_parameters',
    string
  >
>;

const MIN_FRAME_RATE = 5;
const MAX_FRAME_RATE = 120;
const LIMITS = {
  '1080p': { sidePixels: 2048, gopBitRate: 16_000_000 },
  '1440p': { sidePixels: 4096, gopBitRate: 36_000_000 },
  '2160p': { sidePixels: 4096, gopBitRate: 36_000_000 },
} as const;

/** Why an input is not standard; undefined when it is. Without video only the audio is judged. */
export const evaluateInput = (
  facts: SourceFacts,
  index: SourceIndex,
  tier: ResolutionTier,
): NonStandardReasons | undefined => {
  const audio = facts.audio[0];
  const reasons: NonStandardReasons = {
    ...(facts.video && evaluateVideo(facts.video, index.video, tier)),
    ...(audio && !audio.simpleEditList && { audio_edit_list: 'non-standard' }),
    ...(audio && audio.codec !== 'aac' && { audio_codec: audio.codec }),
    ...((index.discontinuous || facts.video?.interlaced) && { unexpected_media_file_parameters: 'non-standard' }),
  };
  return Object.keys(reasons).length > 0 ? reasons : undefined;
};

const evaluateVideo = (video: VideoFacts, index: StreamIndex | undefined, tier: ResolutionTier): NonStandardReasons => {
  const { codec, width, height, frameRate, pixelFormat, sampleAspect, bitDepth } = video;
  const limits = LIMITS[tier];
  const standardCodec = codec === 'h264' || (codec === 'hevc' && bitDepth <= 10);
  const standardFormat =
    pixelFormat === 'yuv420p' || pixelFormat === 'yuvj420p' || (codec === 'hevc' && pixelFormat === 'yuv420p10le');
  const rate = frameRate.num > 0 ? frameRate.num / frameRate.den : -1;
  const secondsPerTick = video.timeBase.num / video.timeBase.den;
  return {
    ...(!standardCodec && { video_codec: codec }),
    ...(Math.max(width, height) > limits.sidePixels && { video_resolution: `${width}x${height}` }),
    ...((rate < MIN_FRAME_RATE || rate > MAX_FRAME_RATE) && {
      video_frame_rate: String(Math.round(rate * 1000) / 1000),
    }),
    ...(index &&
      (longestGopTicks(index) * secondsPerTick > MAX_GOP_SECONDS || hasOpenGops(index)) && { video_gop_size: 'high' }),
    ...(index && peakGopBitRate(index, secondsPerTick) > limits.gopBitRate && { video_bitrate: 'high' }),
    ...(!standardFormat && { unsupported_pixel_format: pixelFormat }),
    ...(sampleAspect.num !== sampleAspect.den && { pixel_aspect_ratio: `${sampleAspect.num}:${sampleAspect.den}` }),
    ...(!video.simpleEditList && { video_edit_list: 'non-standard' }),
  };
};

/** bit/s of the GOP with the highest rate. The last GOP ends at the end of the stream. */
const peakGopBitRate = ({ pts, key, size, lastDuration }: StreamIndex, secondsPerTick: number): number => {
  let peak = 0;
  let start: number | undefined;
  let bits = 0;
  let latest = Number.NEGATIVE_INFINITY;
  const close = (end: number): void => {
    if (start !== undefined && end > start) peak = Math.max(peak, bits / ((end - start) * secondsPerTick));
  };
  for (let packet = 0; packet < pts.length; packet += 1) {
    if (key[packet]) {
      close(pts[packet]!);
      start = pts[packet]!;
      bits = 0;
    }
    bits += size[packet]! * 8;
    latest = Math.max(latest, pts[packet]!);
  }
  close(latest + lastDuration);
  return peak;
};
