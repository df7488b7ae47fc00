import type { SourceIndex, StreamIndex } from '../source/source-index.js';
import type { MatroskaTiming } from './timing.js';

/**
 * Cues tell the times and positions of key frames only. The first and the last group of frames are
 * read, and the frames between them are predicted: at a constant rate they all have known times.
 */
export interface KnownPackets {
  /** From the start to the second key frame, which is not included. */
  readonly head: SourceIndex;
  /** From the last cue to the end. */
  readonly tail: SourceIndex;
  /** Ticks of the audio between two packets, if all have the same length. */
  readonly audioTicks?: number;
}

/**
 * The smallest and largest that is assumed for what is not known: audio may need twice as many
 * bytes as at the start.
 */
export type Bound = 'low' | 'high';

/**
 * Packets of a stream: 60 frames a second for twelve hours. A cue may say that a small file lasts
 * for years.
 */
const MAX_PREDICTED = 12 * 3600 * 60;

/** Half a tick: written times are rounded. */
const ROUNDING = 0.5;
const MARGIN = 1e-4;
/** A time that ends in half a tick must not fall below it. */
const FLOAT_ERROR = 1e-7;

/**
 * The index of the whole file; a reason when what was read contradicts a constant rate. The
 * position and size of a predicted key frame are those of the bytes up to the next one; other
 * predicted frames have no position.
 */
export const predictIndex = (
  knownPackets: KnownPackets,
  timing: MatroskaTiming,
  bound: Bound,
): SourceIndex | string => {
  const video = predictVideo(knownPackets, timing, bound);
  if (typeof video === 'string') return video;
  const { head, tail } = knownPackets;
  if ((head.audio?.pts.length ?? 0) + (tail.audio?.pts.length ?? 0) === 0) return { video, discontinuous: false };
  if (!head.audio?.pts.length || !tail.audio?.pts.length)
    return 'its audio does not begin and end near the start and end of its video';
  const audio = predictAudio(head.audio, tail.audio, knownPackets.audioTicks);
  return audio ? { video, audio, discontinuous: false } : TOO_LONG;
};

const TOO_LONG = 'its times are too far apart';

const predictVideo = (
  { head, tail }: KnownPackets,
  { cues, ticksPerFrame }: MatroskaTiming,
  bound: Bound,
): StreamIndex | string => {
  const first = head.video?.pts[0];
  const last = tail.video?.pts[0];
  if (!head.video || !tail.video || first === undefined || last === undefined) return 'no frames were found';
  if (last !== cues.at(-1)!.ticks || tail.video.key.indexOf(1, 1) !== -1 || tail.video.key[0] !== 1)
    return 'its last cue is not its last key frame';
  const numberOf = (ticks: number): number => Math.round((ticks - first) / ticksPerFrame);
  const headFrames = head.video.pts.length;
  const lastNumber = numberOf(last);
  if (lastNumber - headFrames > MAX_PREDICTED) return TOO_LONG;
  if (!isComplete(head.video, 0, numberOf) || !isComplete(tail.video, lastNumber, numberOf))
    return 'frames are missing, or displayed before the key frame that they follow';
  const keys = new Map(
    cues.map((cue, at) => {
      const { position: end, ticks: endTicks } = cues[at + 1] ?? cue;
      return [numberOf(cue.ticks), { ...cue, end, endTicks }];
    }),
  );
  if (keys.size !== cues.length || !keys.has(0) || !keys.has(headFrames)) return 'not every key frame has a cue';
  const times = [...head.video.pts, ...tail.video.pts, ...cues.map(({ ticks }) => ticks)];
  const offset = findOffset(times, numberOf, ticksPerFrame, bound);
  if (offset === undefined) return 'its frames do not have the constant rate that it declares';

  const otherBytes = bound === 'high' ? 0 : 2 * otherBytesPerTick(head.video, cues);
  const predict = (at: number): Packet => {
    const number = headFrames + at;
    const key = keys.get(number);
    const pts = key?.ticks ?? Math.floor(first + offset + number * ticksPerFrame + ROUNDING + FLOAT_ERROR);
    return {
      pts,
      key: key ? 1 : 0,
      position: key?.position ?? -1,
      size: key ? Math.max(key.end - key.position - Math.ceil((key.endTicks - key.ticks) * otherBytes), 0) : 0,
    };
  };
  return join(head.video, lastNumber - headFrames, predict, tail.video);
};

/** Whether the numbers of the frames are consecutive. */
const isComplete = ({ pts }: StreamIndex, from: number, numberOf: (ticks: number) => number): boolean =>
  pts.toSorted().every((ticks, at) => numberOf(ticks) === from + at);

/**
 * How much the first frame's time was rounded down, in ticks, so that every known time is the
 * rounded time of its frame. The frames of a clock that starts at zero are more likely than any
 * other. Undefined when nothing fits.
 */
const findOffset = (
  times: readonly number[],
  numberOf: (ticks: number) => number,
  ticksPerFrame: number,
  bound: Bound,
): number | undefined => {
  const first = times[0]!;
  let low = -ROUNDING;
  let high = ROUNDING;
  for (const ticks of times) {
    const difference = ticks - first - numberOf(ticks) * ticksPerFrame;
    low = Math.max(low, difference - ROUNDING);
    high = Math.min(high, difference + ROUNDING);
  }
  if (low > high + MARGIN) return undefined;
  const likely = Math.round(first / ticksPerFrame) * ticksPerFrame - first;
  const middle = (low + high) / 2;
  const extremes = { low: Math.min(low + MARGIN, middle), high: Math.max(high - MARGIN, middle) };
  return [likely, 0].find((offset) => offset >= low - MARGIN && offset <= high - MARGIN) ?? extremes[bound];
};

/** Audio and everything else in the first group of frames. */
const otherBytesPerTick = ({ size }: StreamIndex, [first, second]: MatroskaTiming['cues']): number => {
  if (!first || !second) return 0;
  const bytes = second.position - first.position - size.reduce((sum, packet) => sum + packet, 0);
  return Math.max(bytes, 0) / (second.ticks - first.ticks);
};

/** Undefined when there are too many packets. */
const predictAudio = (head: StreamIndex, tail: StreamIndex, ticks: number | undefined): StreamIndex | undefined => {
  const first = head.pts[0]!;
  const count = head.pts.length;
  const size = Math.round(head.size.reduce((sum, packet) => sum + packet, 0) / count);
  const middle = ticks === undefined ? 0 : Math.max(Math.round((tail.pts[0]! - first) / ticks) - count, 0);
  const predict = (at: number): Packet => ({
    pts: Math.round(first + (count + at) * ticks!),
    key: 1,
    position: -1,
    size,
  });
  return middle > MAX_PREDICTED ? undefined : join(head, middle, predict, tail);
};

type Packet = Record<'pts' | 'key' | 'position' | 'size', number>;

/** Puts `count` predicted packets between those that were read. */
const join = (head: StreamIndex, count: number, predict: (at: number) => Packet, tail: StreamIndex): StreamIndex => {
  const tailAt = head.pts.length + count;
  const total = tailAt + tail.pts.length;
  const pts = new Float64Array(total);
  const key = new Uint8Array(total);
  const size = new Uint32Array(total);
  const position = new Float64Array(total);
  for (const { part, start } of [
    { part: head, start: 0 },
    { part: tail, start: tailAt },
  ]) {
    pts.set(part.pts, start);
    key.set(part.key, start);
    size.set(part.size, start);
    position.set(part.position, start);
  }
  for (let at = 0; at < count; at += 1) {
    const packet = predict(at);
    const row = head.pts.length + at;
    pts[row] = packet.pts;
    key[row] = packet.key;
    size[row] = packet.size;
    position[row] = packet.position;
  }
  return { pts, key, size, position, lastDuration: tail.lastDuration };
};
