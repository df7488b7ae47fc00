/** Which combinations of times, edit lists and streams the test of played times uses. */
import { combinations, coverPairs } from '../pairs.js';
import type { Timing } from './time-files.js';

export const FRAMES = 48;

/** How long frames are displayed: `lengths`, which repeat, in 1/`unit` s. */
const RATES = {
  '1': { unit: 1, lengths: [1] },
  '8': { unit: 8, lengths: [1] },
  '23.976': { unit: 24_000, lengths: [1001] },
  '60': { unit: 60, lengths: [1] },
  '120': { unit: 120, lengths: [1] },
  '240': { unit: 240, lengths: [1] },
  variable: { unit: 1000, lengths: [40, 200, 17, 333, 100] },
  'slow and variable': { unit: 7, lengths: [1, 3, 2, 1, 5] },
  bursts: { unit: 50, lengths: [50, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1] },
} as const;

const PROPERTIES = {
  rate: Object.keys(RATES) as (keyof typeof RATES)[],
  /** Ticks per second of the file. */
  timescale: [1, 'that of the rate', 600, 1000, 90_000],
  edit: ['none', 'start', 'end', 'both', 'empty'],
  order: ['without B-frames', 'with B-frames', 'B-frames without composition times'],
  stream: ['H.264', '4:4:4', 'HEVC', 'HEVC of 12 bits', 'NUT'],
  last: ['usual', 'short', 'long'],
} as const;

export type TimeCase = { readonly [K in keyof typeof PROPERTIES]: (typeof PROPERTIES)[K][number] };
type Way = 'copied' | 'copied beside the ladder' | 'encoded' | 'mezzanine';

const ticksPerSecond = ({ rate, timescale }: TimeCase): number =>
  timescale === 'that of the rate' ? RATES[rate].unit : timescale;

export const nameOf = (of: TimeCase): string =>
  `${of.rate} in 1/${ticksPerSecond(of)}, edit list: ${of.edit}, ${of.stream} ${of.order}, last frame ${of.last}`;

/** More than 60 frames a second. */
export const isFast = ({ rate }: TimeCase): boolean => rate === '120' || rate === '240';
const cutsFrames = ({ edit }: TimeCase): boolean => edit === 'start' || edit === 'end' || edit === 'both';
/**
 * The file has frames that are read but not displayed; without B-frames, those after the end are
 * not read.
 */
const hidesFrames = ({ edit, order }: TimeCase): boolean =>
  edit === 'start' || edit === 'both' || (edit === 'end' && order !== 'without B-frames');

/** Combinations that no file can have, or that have no right result. */
const IMPOSSIBLE: Readonly<Record<string, (of: TimeCase) => boolean>> = {
  'frames are shorter than a tick': (of) =>
    Math.min(...RATES[of.rate].lengths) * ticksPerSecond(of) < RATES[of.rate].unit,
  'NUT has no edit list that cuts': (of) => of.stream === 'NUT' && cutsFrames(of),
  'without composition times, an edit list cuts by the order of decoding': (of) =>
    of.order === 'B-frames without composition times' && cutsFrames(of),
};

/** How the product makes the frames of a case. */
export const wayOf = (of: TimeCase): Way => {
  if (of.order === 'B-frames without composition times') return 'mezzanine';
  if (of.stream === 'HEVC of 12 bits' || of.stream === 'NUT') return 'mezzanine';
  if (of.stream === '4:4:4' || isFast(of) || hidesFrames(of) || (of.last === 'long' && of.edit !== 'end'))
    return 'encoded';
  return of.stream === 'HEVC' ? 'copied beside the ladder' : 'copied';
};

/** With the way, which meets every value of the other properties too. */
export const possibleCases = combinations(PROPERTIES)
  .filter((of) => !Object.values(IMPOSSIBLE).some((isImpossible) => isImpossible(of)))
  .map((of) => ({ ...of, way: wayOf(of) }));

/** Any two values of two properties meet in one of these, if they can. */
export const timeCases = coverPairs(possibleCases);

/**
 * The streams have a key frame every 8 frames. In those with B-frames, the frames 2 and 5 after it
 * are B-frames.
 */
const editOf = (edit: TimeCase['edit'], at: (frame: number) => number, ticks: number): Timing['edit'] => {
  switch (edit) {
    case 'none':
      return undefined;
    case 'start':
      return { startTicks: at(5) };
    case 'end':
      return { endTicks: at(FRAMES - 3) - Math.floor((at(FRAMES - 3) - at(FRAMES - 4)) / 2) };
    case 'both':
      return { startTicks: at(13), endTicks: at(FRAMES - 3) };
    case 'empty':
      return { emptyTicks: 2 * ticks };
  }
};

export const timingOf = (of: TimeCase): Timing => {
  const { unit, lengths } = RATES[of.rate];
  const timescale = ticksPerSecond(of);
  let end = 0;
  const ends = Array.from({ length: FRAMES }, (_, frame) => {
    end += lengths[frame % lengths.length]!;
    return Math.round((end * timescale) / unit);
  });
  const usual = ends.at(-1)! - ends.at(-2)!;
  const at = (frame: number): number => ends[frame - 1]!;
  const durations = ends.map((ticks, frame) => ticks - (ends[frame - 1] ?? 0));
  durations[FRAMES - 1] = { usual, short: Math.max(Math.round(usual / 4), 1), long: Math.ceil(3.7 * timescale) }[
    of.last
  ];
  const edit = editOf(of.edit, at, usual);
  return {
    timescale,
    durations,
    ...(edit && { edit }),
    ...(of.order === 'B-frames without composition times' && { withoutComposition: true }),
  };
};
