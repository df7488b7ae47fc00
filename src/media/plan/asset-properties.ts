import { reduce } from '../source/rational.js';
import type { Rational, SourceFacts, VideoFacts } from '../source/source-facts.js';
import type { Plan, VideoPlan } from './plan.js';

/** The properties of a ready asset; API names in camel case. */
export interface AssetProperties {
  /** Seconds. */
  readonly duration: number;
  /** Reduced display ratio such as `16:9`; absent without video. */
  readonly aspectRatio?: string;
  readonly resolutionTier: 'audio-only' | '720p' | '1080p' | '1440p' | '2160p';
  readonly maxStoredResolution: 'Audio only' | 'SD' | 'HD' | 'FHD' | 'UHD';
  /** Frames per second, three decimals, -1 when unknown; absent without video. */
  readonly maxStoredFrameRate?: number;
  readonly videoTrack?: {
    readonly duration: number;
    readonly maxWidth: number;
    readonly maxHeight: number;
    readonly maxFrameRate: number;
  };
  readonly audioTrack?: {
    readonly duration: number;
    readonly maxChannels: number;
    /** FFmpeg layout name: `mono`, `stereo`, `5.1` … */
    readonly maxChannelLayout: string;
  };
}

const PIXELS_720P = 921_600;
const PIXELS_1080P = 2_073_600;
const PIXELS_1440P = 4_194_304;
const HD_SHORT_SIDE = 720;
const STORED_RESOLUTION = { '720p': 'HD', '1080p': 'HD', '1440p': 'FHD', '2160p': 'UHD' } as const;

export const describeReadyAsset = (plan: Plan, facts: SourceFacts): AssetProperties => {
  const { video, audio, durationSeconds } = plan;
  const source = facts.audio[0];
  const audioTrack = audio &&
    source && {
      duration: round3(Math.min(source.durationSeconds || durationSeconds, durationSeconds)),
      maxChannels: audio.channels,
      maxChannelLayout: layoutOf(audio.channels),
    };
  const shared = { duration: round3(durationSeconds), ...(audioTrack && { audioTrack }) };
  const videoFacts = facts.video;
  if (!video || !videoFacts) return { ...shared, resolutionTier: 'audio-only', maxStoredResolution: 'Audio only' };
  const { width, height } = video.renditions.at(-1)!;
  const frameRate = storedFrameRate(video);
  return {
    ...shared,
    aspectRatio: aspectRatio(videoFacts),
    ...storedResolution(width, height),
    maxStoredFrameRate: frameRate,
    videoTrack: {
      duration: round3(Math.min(videoFacts.durationSeconds || durationSeconds, durationSeconds)),
      maxWidth: width,
      maxHeight: height,
      maxFrameRate: frameRate,
    },
  };
};

/** What a broadcast shows of itself while it is live. */
export interface LiveFacts {
  /** Of what is recorded so far. */
  readonly durationSeconds: number;
  readonly video?: {
    /** Coded pixels. */
    readonly width: number;
    readonly height: number;
    /** Width of a pixel by its height; square when absent. */
    readonly sampleAspect?: Rational;
    /** Frames per second; -1 when unknown. */
    readonly frameRate: number;
  };
  readonly audio?: { readonly channels: number };
}

/** Properties of an asset that is ready while it is recorded. */
export const describeLiveAsset = ({ durationSeconds, video, audio }: LiveFacts): AssetProperties => {
  const duration = round3(durationSeconds);
  const shared = {
    duration,
    ...(audio && { audioTrack: { duration, maxChannels: audio.channels, maxChannelLayout: layoutOf(audio.channels) } }),
  };
  if (!video) return { ...shared, resolutionTier: 'audio-only', maxStoredResolution: 'Audio only' };
  const { width, height, sampleAspect = { num: 1, den: 1 } } = video;
  const frameRate = round3(video.frameRate);
  return {
    ...shared,
    aspectRatio: aspectRatio({ width, height, sampleAspect, rotation: 0 }),
    ...storedResolution(width, height),
    maxStoredFrameRate: frameRate,
    videoTrack: { duration, maxWidth: width, maxHeight: height, maxFrameRate: frameRate },
  };
};

const layoutOf = (channels: number): string => (channels === 1 ? 'mono' : 'stereo');

const round3 = (value: number): number => Math.round(value * 1000) / 1000;

const storedFrameRate = ({ frameRate, renditions }: VideoPlan): number =>
  frameRate.num > 0 ? round3(frameRate.num / frameRate.den / renditions.at(-1)!.frameStep) : -1;

/** Determined by the number of pixels. */
export const videoTier = (width: number, height: number): '720p' | '1080p' | '1440p' | '2160p' => {
  const pixels = width * height;
  if (pixels <= PIXELS_720P) return '720p';
  if (pixels <= PIXELS_1080P) return '1080p';
  return pixels <= PIXELS_1440P ? '1440p' : '2160p';
};

const storedResolution = (
  width: number,
  height: number,
): Pick<AssetProperties, 'resolutionTier' | 'maxStoredResolution'> => {
  const resolutionTier = videoTier(width, height);
  const isSmall = resolutionTier === '720p' && Math.min(width, height) < HD_SHORT_SIDE;
  return { resolutionTier, maxStoredResolution: isSmall ? 'SD' : STORED_RESOLUTION[resolutionTier] };
};

/** Exact: 720x480 with pixels of 32:27 is 16:9. */
const aspectRatio = ({
  width,
  height,
  sampleAspect,
  rotation,
}: Pick<VideoFacts, 'width' | 'height' | 'sampleAspect' | 'rotation'>): string => {
  const { num, den } = reduce({ num: width * sampleAspect.num, den: height * sampleAspect.den });
  return rotation % 180 === 0 ? `${num}:${den}` : `${den}:${num}`;
};
