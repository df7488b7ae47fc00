import { type ByteRange, mergeRanges } from '../../lib/byte-ranges.js';
import type { Rational } from './source-facts.js';
import type { SourceIndex, StreamIndex } from './source-index.js';

export interface IndexedSource {
  readonly index: SourceIndex;
  readonly videoTimeBase?: Rational;
  readonly audioTimeBase?: Rational;
}

/** Decoders and demuxers read on for a while before the last frame comes out. */
const AHEAD_SECONDS = 1;
/** A decoder of audio needs some packets before the first one whose samples are used. */
const AUDIO_PRE_ROLL_SECONDS = 1;
/** Packets of other streams between wanted ones are fetched with them: one range instead of hundreds. */
const MAX_GAP_BYTES = 64 * 1024;

/**
 * The bytes that are read of a source to decode what is displayed and heard in [fromSeconds, untilSeconds) of its own time:
 * from the key frame before to a second after. A job may need more (`range_missing` says what), as where a frame is displayed
 * after a key frame that follows it in the file.
 */
export const neededRanges = (
  { index, videoTimeBase, audioTimeBase }: IndexedSource,
  fromSeconds: number,
  untilSeconds: number,
  streams: { readonly video: boolean; readonly audio: boolean },
): ByteRange[] => {
  const ranges: ByteRange[] = [];
  const add = (stream: StreamIndex, [first, end]: readonly [number, number]): void => {
    for (let packet = first; packet < end; packet += 1) {
      const start = stream.position[packet]!;
      if (start >= 0) ranges.push({ start, end: start + stream.size[packet]! });
    }
  };
  if (streams.video && index.video && videoTimeBase) {
    const ticks = videoTimeBase.den / videoTimeBase.num;
    add(index.video, framesBetween(index.video, fromSeconds * ticks, (untilSeconds + AHEAD_SECONDS) * ticks));
  }
  if (streams.audio && index.audio && audioTimeBase) {
    const ticks = audioTimeBase.den / audioTimeBase.num;
    const from = (fromSeconds - AUDIO_PRE_ROLL_SECONDS) * ticks;
    add(index.audio, packetsBetween(index.audio.pts, from, (untilSeconds + AHEAD_SECONDS) * ticks));
  }
  return mergeRanges(ranges, MAX_GAP_BYTES);
};

/** In file order, from the last key frame before `from` (its own time too early by a tick) to the last packet up to `until`. */
const framesBetween = ({ pts, key }: StreamIndex, from: number, until: number): [number, number] => {
  const [start, end] = packetsBetween(pts, from, until);
  let first = start;
  while (first > 0 && !(key[first] === 1 && pts[first]! < from)) first -= 1;
  return [first, end];
};

/** From the first packet at or after `from` to behind the last one before `until`, in file order. */
const packetsBetween = (pts: Float64Array, from: number, until: number): [number, number] => {
  let first = pts.findIndex((time) => time >= from);
  if (first === -1) first = Math.max(pts.length - 1, 0);
  const end = pts.findLastIndex((time) => time < until) + 1;
  return [first, Math.max(end, first + 1)];
};
