import { reduce } from './rational.js';
import type { Rational } from './source-facts.js';
import type { StreamIndex } from './source-index.js';

/** FFmpeg's demuxer of MP4 and MOV. */
export const isMovFormat = (formatName: string): boolean => formatName.split(',').includes('mov');
/** FFmpeg's demuxer of Matroska and WebM. */
export const isMatroskaFormat = (formatName: string): boolean => formatName.split(',').includes('matroska');
/** MPEG-TS and MPEG-PS: exact seeking needs byte positions. */
export const isMpegStreamFormat = (formatName: string): boolean => formatName === 'mpegts' || formatName === 'mpeg';

/**
 * Times (stream ticks, ascending) of the displayed frames. Frames before the first key frame can't
 * be decoded, unless they belong to its closed GOP (`closedStart`); in MP4 and MOV, negative times
 * are before the edit.
 */
export const listFrames = (index: StreamIndex, formatName: string, closedStart = false): Float64Array => {
  const firstKey = index.key.indexOf(1);
  if (firstKey === -1) return new Float64Array();
  const decodable = closedStart && firstKey === 0 ? Number.NEGATIVE_INFINITY : index.pts[firstKey]!;
  const earliest = Math.max(decodable, isMovFormat(formatName) ? 0 : Number.NEGATIVE_INFINITY);
  return index.pts.filter((pts) => pts >= earliest).sort();
};

/** Ascending times (stream ticks) of the key frames. */
export const listKeyFrames = (index: StreamIndex): Float64Array =>
  index.pts.filter((_, packet) => index.key[packet] === 1).sort();

/**
 * Longest time (stream ticks) from a key frame to the last frame that needs it or an earlier one.
 */
export const longestGopTicks = (index: StreamIndex): number => {
  let longest = 0;
  let keyPts: number | undefined;
  for (let packet = 0; packet < index.pts.length; packet += 1) {
    const pts = index.pts[packet]!;
    if (index.key[packet]) keyPts = pts;
    else if (keyPts !== undefined) longest = Math.max(longest, pts - keyPts);
  }
  return longest;
};

/**
 * True when a frame that follows a key frame in the file is displayed before it, or the reverse.
 * Decoding that starts or ends at such a key frame loses the frame.
 */
export const hasOpenGops = ({ pts, key }: StreamIndex): boolean => {
  let latestBefore = Number.NEGATIVE_INFINITY;
  for (let packet = 0; packet < pts.length; packet += 1) {
    if (key[packet] && latestBefore > pts[packet]!) return true;
    latestBefore = Math.max(latestBefore, pts[packet]!);
  }
  let earliestAfter = Number.POSITIVE_INFINITY;
  for (let packet = pts.length - 1; packet >= 0; packet -= 1) {
    if (key[packet] && earliestAfter < pts[packet]!) return true;
    earliestAfter = Math.min(earliestAfter, pts[packet]!);
  }
  return false;
};

export const NOMINAL_RATES: readonly Rational[] = [
  ...[24, 30, 48, 60, 120].map((rate) => ({ num: rate * 1000, den: 1001 })),
  ...[5, 6, 8, 10, 12, 15, 20, 24, 25, 30, 48, 50, 60, 72, 90, 100, 120, 144, 240].map((num) => ({ num, den: 1 })),
];

/**
 * The constant rate of ascending times: a common rate when every difference is within 1 ms of it
 * (Matroska stores whole milliseconds: 33, 33, 34 is 30 per second), or the exact rate when all
 * differences are equal. Undefined for variable rates.
 */
export const findConstantRate = (ticks: Float64Array, secondsPerTick: Rational): Rational | undefined => {
  if (ticks.length < 2) return undefined;
  let shortest = Number.POSITIVE_INFINITY;
  let longest = 0;
  for (let frame = 1; frame < ticks.length; frame += 1) {
    const difference = ticks[frame]! - ticks[frame - 1]!;
    shortest = Math.min(shortest, difference);
    longest = Math.max(longest, difference);
  }
  const second = secondsPerTick.num / secondsPerTick.den;
  const average = ((ticks.at(-1)! - ticks[0]!) * second) / (ticks.length - 1);
  const offset = (rate: Rational): number => Math.abs((average * rate.num) / rate.den - 1);
  const usual = NOMINAL_RATES.reduce((best, rate) => (offset(rate) < offset(best) ? rate : best));
  const period = usual.den / usual.num;
  const tolerance = 0.001 + 1e-9;
  // 24 and 23.976 differ by 0.1 %. In a short file, the tick length limits the precision of the
  // rate.
  const allowedOffset = Math.max(0.0004, (1.5 * tolerance) / (average * (ticks.length - 1)));
  if (
    offset(usual) <= allowedOffset &&
    Math.abs(shortest * second - period) <= tolerance &&
    Math.abs(longest * second - period) <= tolerance
  )
    return usual;
  return shortest === longest ? reduce({ num: secondsPerTick.den, den: secondsPerTick.num * longest }) : undefined;
};
