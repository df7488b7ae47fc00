import { fixture } from './fixtures.js';
import { probeFile, readFrameCounters, readPacketBytes, readPackets } from './measure.js';
import { type Mp4Edit, type Mp4Sample, writeMp4File } from './mp4-file.js';

/** What the times of a video can be like. Each value once was an assumption that did not hold. */
const DIMENSIONS = {
  timescale: [1, 5, 15, 600, 1000, 30_000, 90_000],
  rate: [1, 5, 15, 24_000 / 1001, 30, 60, 240, 'variable', 'bursts'],
  edit: ['none', 'start', 'end', 'both', 'empty first'],
  frames: ['in order', 'B-frames', 'B-frames without offsets'],
  last: ['usual', 'short', 'long'],
} as const;

type Dimension = keyof typeof DIMENSIONS;
export type TimeCase = { readonly [K in Dimension]: (typeof DIMENSIONS)[K][number] };

const FRAMES = 36;
const HIDDEN_AT_START = 5;
const HIDDEN_AT_END = 7;

/** Start times of the frames in seconds. */
const secondsOf = ({ rate }: TimeCase): number[] => {
  const step = (frame: number): number => {
    if (rate === 'variable') return [0.02, 0.033, 0.05, 0.067, 0.12, 0.4, 0.04][frame % 7]!;
    if (rate === 'bursts') return frame % 12 < 10 ? 1 / 120 : 1;
    return 1 / rate;
  };
  let at = 0;
  return Array.from({ length: FRAMES }, (_, frame) => {
    const start = at;
    at += step(frame);
    return start;
  });
};

/** Start times in ticks, and the end of the last frame. Undefined where two frames would share a tick. */
const ticksOf = (of: TimeCase): number[] | undefined => {
  const ticks = secondsOf(of).map((seconds) => Math.round(seconds * of.timescale));
  if (ticks.some((time, frame) => time <= (ticks[frame - 1] ?? -1))) return undefined;
  const usual = ticks.at(-1)! - ticks.at(-2)!;
  const last = { usual, short: 1, long: usual + 2 * of.timescale }[of.last];
  return [...ticks, ticks.at(-1)! + last];
};

/** Without composition times, an edit list has nothing to count from. */
const isPossible = (of: TimeCase): boolean =>
  ticksOf(of) !== undefined && !(of.frames === 'B-frames without offsets' && of.edit !== 'none');

/** Cases in which every possible pair of values of two dimensions occurs. */
export const listTimeCases = (): TimeCase[] => {
  const names = Object.keys(DIMENSIONS) as Dimension[];
  const all = names.reduce<Record<string, unknown>[]>(
    (cases, name) => cases.flatMap((one) => DIMENSIONS[name].map((value) => ({ ...one, [name]: value }))),
    [{}],
  ) as unknown as TimeCase[];
  const pairsOf = (of: TimeCase): string[] =>
    names.flatMap((a, at) => names.slice(at + 1).map((b) => `${a}=${of[a]} ${b}=${of[b]}`));
  const possible = all.filter(isPossible).map((of) => ({ of, pairs: pairsOf(of) }));
  const missing = new Set(possible.flatMap(({ pairs }) => pairs));
  const chosen: TimeCase[] = [];
  while (missing.size > 0) {
    const gain = ({ pairs }: { pairs: string[] }): number => pairs.filter((pair) => missing.has(pair)).length;
    const best = possible.reduce((most, one) => (gain(one) > gain(most) ? one : most));
    for (const pair of best.pairs) missing.delete(pair);
    chosen.push(best.of);
  }
  return chosen;
};

export interface TimeFile {
  readonly bytes: Buffer;
  /** Of the frames that a viewer sees: the number that is painted in each, and its start in seconds after the first. */
  readonly frames: readonly { readonly counter: number; readonly seconds: number }[];
  readonly durationSeconds: number;
}

/** The file of a case. */
export const writeTimeFile = async (of: TimeCase): Promise<TimeFile> => {
  const source = await fixture(of.frames === 'in order' ? 'gops-in-order.mp4' : 'gops-b-frames.mp4');
  const counters = readFrameCounters(source).map(({ counter }) => counter);
  const packets = readPackets(source);
  const data = readPacketBytes(source);
  const shown = packets.map(({ ptsSeconds }) => ptsSeconds).toSorted((a, b) => a - b);
  const { width, height, extradata } = probeFile(source).streams[0]!;
  const times = ticksOf(of)!;
  const end = times.pop()!;
  const order = packets.map(({ ptsSeconds }) => shown.indexOf(ptsSeconds));
  // Frames are decoded at the times of the frames in order, as early as that keeps each before it is displayed.
  const delay = Math.max(...order.map((frame, n) => times[n]! - times[frame]!));
  const samples = order.map(
    (frame, n): Mp4Sample => ({
      data: data[n]!,
      isKey: packets[n]!.keyFrame,
      decodeTicks: times[n]!,
      presentationTicks: times[frame]! + delay,
    }),
  );
  const first = of.edit === 'start' || of.edit === 'both' ? HIDDEN_AT_START : 0;
  const until = of.edit === 'end' || of.edit === 'both' ? FRAMES - HIDDEN_AT_END : FRAMES;
  const from = times[first]!;
  const to = times[until] ?? end;
  // The table has durations in decode order: the frame that is displayed last has that of its own packet.
  const last = order.indexOf(FRAMES - 1);
  const shownUntil = until === FRAMES ? times.at(-1)! + ((times[last + 1] ?? end) - times[last]!) : to;
  const isWithout = of.frames === 'B-frames without offsets';
  const edit: Mp4Edit = { mediaTime: from + delay, durationTicks: to - from };
  const edits = of.edit === 'empty first' ? [{ mediaTime: -1, durationTicks: of.timescale }, edit] : [edit];
  const bytes = writeMp4File({
    timescale: of.timescale,
    width,
    height,
    avcc: extradata!,
    samples,
    lastTicks: end - times.at(-1)!,
    ...(of.edit === 'none' && delay === 0 ? {} : { edits }),
    withoutOffsets: isWithout,
  });
  return {
    bytes,
    frames: times
      .slice(first, until)
      .map((time, n) => ({ counter: counters[first + n]!, seconds: (time - from) / of.timescale })),
    durationSeconds: ((isWithout ? to : shownUntil) - from) / of.timescale,
  };
};
