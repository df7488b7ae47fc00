import { AAC_FRAME_SAMPLES, audioSpecificConfig } from '../codecs/aac.js';
import { fragmentOverheadBytes } from '../mp4/cmaf.js';
import { rescale } from '../source/rational.js';
import type { AudioFacts, Rational } from '../source/source-facts.js';
import type { StreamIndex } from '../source/source-index.js';
import { TARGET_SEGMENT_SECONDS } from './grid.js';
import type { AudioPlan, Gain } from './plan.js';

export interface AudioPlanInput {
  readonly audio: AudioFacts;
  readonly formatName: string;
  readonly index: StreamIndex;
  /** The source time that is zero on the timeline, in seconds. */
  readonly zero: Rational;
  /** The length of the timeline, in seconds. */
  readonly endSeconds: number;
  /** The video's segment boundaries, in seconds; the audio is cut at the nearest AAC frames. */
  readonly videoBoundaries?: readonly number[];
  readonly gain?: Gain;
}

const AAC_LC_PROFILE = 1;
const MIN_LAST_SECONDS = 2;
const CHUNK_SEGMENTS = 8;
/**
 * The first chunk, eight seconds beside video, is made before it is requested, and playback needs
 * it to start.
 */
const FIRST_CHUNK_SEGMENTS = 3;
/** The audio of a chunk is in memory. Only frames that are far apart make a chunk this long. */
const MAX_CHUNK_SECONDS = 64;
const STEREO_BIT_RATE = 128_000;
const MONO_BIT_RATE = 96_000;
const BANDWIDTH_MARGIN = 1.1;
/** Copied packets must begin within this distance of zero … */
const START_TOLERANCE_SECONDS = 0.002;
/** … stay this close to the 1,024-sample grid (less than half a frame) … */
const GRID_TOLERANCE_SECONDS = 0.008;
/** … and end at most this much before the video. */
const END_TOLERANCE_SECONDS = 0.1;

export const planAudio = (input: AudioPlanInput): AudioPlan => {
  const { audio, formatName, zero, gain } = input;
  const chunkSegments = planChunkSegments(input.videoBoundaries ?? []);
  const shared = {
    streamIndex: audio.streamIndex,
    ...(audio.rightStreamIndex !== undefined && { rightStreamIndex: audio.rightStreamIndex }),
    formatName,
    sourceTimeBase: audio.timeBase,
    sourceSampleRate: audio.sampleRate,
    sourceOrigin: rescale(1, zero, audio.timeBase),
    sampleRate: audio.sampleRate === 44_100 ? (44_100 as const) : (48_000 as const),
    channels: audio.channels === 1 ? (1 as const) : (2 as const),
    chunkSegments,
    firstChunkSegments: Math.min(FIRST_CHUNK_SEGMENTS, chunkSegments),
    codecs: 'mp4a.40.2',
  };
  const copied = findCopyablePackets(input, shared.sourceOrigin);
  if (copied) {
    const boundaries = planBoundaries(input, copied.length, shared.sampleRate);
    const rates = boundaries.slice(1).map((end, segment) => {
      const start = boundaries[segment]!;
      const bytes = sumBytes(copied, start, end) + fragmentOverheadBytes(end - start);
      return (bytes * 8 * shared.sampleRate) / ((end - start) * AAC_FRAME_SAMPLES);
    });
    const bits = sumBytes(copied, 0, copied.length) * 8;
    return {
      ...shared,
      mode: 'copy',
      boundaries,
      bitRate: Math.ceil((bits * shared.sampleRate) / (copied.length * AAC_FRAME_SAMPLES)),
      bandwidth: Math.ceil(Math.max(...rates)),
      audioSpecificConfig: audio.audioSpecificConfig ?? configBase64(shared.sampleRate, shared.channels),
    };
  }
  const bitRate = shared.channels === 1 ? MONO_BIT_RATE : STEREO_BIT_RATE;
  return {
    ...shared,
    mode: 'encode',
    boundaries: planBoundaries(input, framesUntil(input.endSeconds, shared.sampleRate), shared.sampleRate),
    bitRate,
    bandwidth: Math.round(bitRate * BANDWIDTH_MARGIN),
    audioSpecificConfig: configBase64(shared.sampleRate, shared.channels),
    ...gain,
  };
};

const planChunkSegments = (boundaries: readonly number[]): number => {
  const longest = boundaries.slice(1).reduce((most, end, k) => Math.max(most, end - boundaries[k]!), 1);
  return Math.max(1, Math.min(CHUNK_SEGMENTS, Math.floor(MAX_CHUNK_SECONDS / longest)));
};

const configBase64 = (sampleRate: number, channels: number): string =>
  Buffer.from(audioSpecificConfig(sampleRate, channels)).toString('base64');

const sumBytes = (sizes: Uint32Array, start: number, end: number): number =>
  sizes.subarray(start, end).reduce((sum, size) => sum + size, 0);

/** The number of frames that cover `seconds`; floating-point errors must not add a frame. */
const framesUntil = (seconds: number, sampleRate: number): number =>
  Math.max(1, Math.ceil((seconds * sampleRate) / AAC_FRAME_SAMPLES - 1e-6));

/**
 * Sizes of the packets that can be copied, one per frame from zero on; undefined when the audio has
 * to be encoded.
 */
const findCopyablePackets = (input: AudioPlanInput, sourceOrigin: number): Uint32Array | undefined => {
  const { audio, index, endSeconds, gain, videoBoundaries } = input;
  const usable =
    audio.codec === 'aac' &&
    audio.profile === AAC_LC_PROFILE &&
    (audio.sampleRate === 44_100 || audio.sampleRate === 48_000) &&
    (audio.channels === 1 || audio.channels === 2) &&
    audio.simpleEditList &&
    !gain &&
    isPlainConfig(audio);
  if (!usable) return undefined;
  const secondsPerTick = audio.timeBase.num / audio.timeBase.den;
  const times = index.pts.map((pts) => (pts - sourceOrigin) * secondsPerTick);
  const first = times.findIndex((time) => time >= -START_TOLERANCE_SECONDS);
  if (first === -1 || times[first]! > START_TOLERANCE_SECONDS) return undefined;
  const frameSeconds = AAC_FRAME_SAMPLES / audio.sampleRate;
  const count = Math.min(times.length - first, framesUntil(endSeconds, audio.sampleRate));
  for (let frame = 0; frame < count; frame += 1)
    if (Math.abs(times[first + frame]! - frame * frameSeconds) > GRID_TOLERANCE_SECONDS) return undefined;
  if (videoBoundaries && count * frameSeconds < endSeconds - END_TOLERANCE_SECONDS) return undefined;
  return index.size.subarray(first, first + count);
};

/**
 * The configuration for the init segment must have object type 2, 1,024-sample frames and the
 * declared channels.
 */
const isPlainConfig = ({ audioSpecificConfig: config, channels }: AudioFacts): boolean => {
  if (config === undefined) return true; // ADTS: written from rate and channels
  const bytes = Buffer.from(config, 'base64');
  const [first = 0, second = 0] = bytes;
  return first >> 3 === 2 && (second & 0x04) === 0 && ((second >> 3) & 0x0f) === channels;
};

/** Cuts where the video is cut (its segments last at least a second), otherwise every 4 s. */
const planBoundaries = ({ videoBoundaries }: AudioPlanInput, frameCount: number, sampleRate: number): number[] => {
  const marks = videoBoundaries?.slice(1, -1) ?? audioMarks((frameCount * AAC_FRAME_SAMPLES) / sampleRate);
  const cuts = marks.map((seconds) => Math.round((seconds * sampleRate) / AAC_FRAME_SAMPLES));
  return [0, ...cuts, frameCount];
};

const audioMarks = (endSeconds: number): number[] => {
  const count = Math.max(1, Math.ceil((endSeconds - MIN_LAST_SECONDS) / TARGET_SEGMENT_SECONDS));
  return Array.from({ length: count - 1 }, (_, index) => (index + 1) * TARGET_SEGMENT_SECONDS);
};
