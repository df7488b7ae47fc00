import { type ByteRange, mergeRanges } from '../../lib/byte-ranges.js';
import type { Rational } from './source-facts.js';
import type { SourceIndex, StreamIndex } from './source-index.js';

export interface IndexedSource {
  readonly index: SourceIndex;
  readonly videoTimeBase?: Rational;
  readonly audioTimeBase?: Rational;
}

/** Decoders and demuxers read beyond the last frame before they return it. */
const AHEAD_SECONDS = 1;
/** An audio decoder needs some packets before the first one whose samples are used. */
const AUDIO_PRE_ROLL_SECONDS = 1;
/** Packets of other streams that lie in between are fetched too: one range instead of hundreds. */
const MAX_GAP_BYTES = 64 * 1024;
/** Times in seconds differ from the source's own by less than this. */
const ROUNDING_TICKS = 0.5;

export interface NeededStreams {
  readonly video: boolean;
  readonly audio: boolean;
  /**
   * The frame before the first one is not needed: decoding starts at a key frame that is displayed
   * at `fromSeconds`.
   */
  readonly startsAtKeyFrame?: boolean;
}

/**
 * The bytes needed to decode [fromSeconds, untilSeconds) in the source's own time: from the
 * preceding key frame to one second after the end. A job may need more, which it reports as
 * `range_missing`: for example when a frame is displayed after a key frame that follows it in the
 * file.
 */
export const neededRanges = (
  source: IndexedSource,
  fromSeconds: number,
  untilSeconds: number,
  streams: NeededStreams,
): ByteRange[] => {
  const { index, videoTimeBase, audioTimeBase } = source;
  const ranges: ByteRange[] = [];
  const add = (stream: StreamIndex, [first, end]: readonly [number, number]): void => {
    for (let packet = first; packet < end; packet += 1) {
      const start = stream.position[packet]!;
      if (start >= 0) ranges.push({ start, end: start + stream.size[packet]! });
    }
  };
  if (streams.video && index.video && videoTimeBase) {
    const ticks = videoTimeBase.den / videoTimeBase.num;
    const from = fromSeconds * ticks;
    const latestKey = streams.startsAtKeyFrame ? from + ROUNDING_TICKS : from;
    add(index.video, framesBetween(index.video, from, (untilSeconds + AHEAD_SECONDS) * ticks, latestKey));
  }
  if (streams.audio && index.audio && audioTimeBase) {
    const ticks = audioTimeBase.den / audioTimeBase.num;
    const from = (fromSeconds - AUDIO_PRE_ROLL_SECONDS) * ticks;
    add(index.audio, packetsBetween(index.audio.pts, from, (untilSeconds + AHEAD_SECONDS) * ticks));
    if (isPredicted(index)) {
      const between = neededRanges(source, fromSeconds - AUDIO_PRE_ROLL_SECONDS, untilSeconds, VIDEO_ONLY);
      ranges.push(...between);
    }
  }
  return mergeRanges(ranges, MAX_GAP_BYTES);
};

const VIDEO_ONLY = { video: true, audio: false };
/** The positions of most packets are unknown: audio is between the key frames of its time. */
const isPredicted = ({ video }: SourceIndex): boolean => video?.position.includes(-1) === true;

/**
 * Packets in file order, from the last key frame before `latestKey` to the last packet before
 * `until`.
 */
const framesBetween = ({ pts, key }: StreamIndex, from: number, until: number, latestKey: number): [number, number] => {
  const [start, end] = packetsBetween(pts, from, until);
  let first = start;
  while (first > 0 && !(key[first] === 1 && pts[first]! < latestKey)) first -= 1;
  return [first, end];
};

/**
 * Packets in file order, from the first one at or after `from` up to and including the last one
 * before `until`.
 */
const packetsBetween = (pts: Float64Array, from: number, until: number): [number, number] => {
  let first = pts.findIndex((time) => time >= from);
  if (first === -1) first = Math.max(pts.length - 1, 0);
  const end = pts.findLastIndex((time) => time < until) + 1;
  return [first, Math.max(end, first + 1)];
};
