import { expect, test } from 'vitest';
import { findShots } from './detect.js';
import type { ShotScores } from './scores.js';

const TIMESCALE = 1000;
const STEP = 40;

interface Special {
  readonly change?: number;
  readonly lasting?: number;
  readonly dissolve?: number;
  readonly blank?: number;
}

/** Frames at 25 per second that change by `calm`, with exceptions. */
const shotsOf = (frames: number, special: Readonly<Record<number, Special>>, calm = 0.005, dissolve = 0): number[] => {
  const column = (name: keyof Special, usual: number) =>
    Array.from({ length: frames }, (_, at) => special[at]?.[name] ?? usual);
  const scores: ShotScores = {
    ticks: Array.from({ length: frames }, (_, at) => at * STEP),
    change: column('change', calm),
    lasting: column('lasting', 0),
    dissolve: column('dissolve', dissolve),
    blank: column('blank', 0),
  };
  return findShots(scores, TIMESCALE, frames * STEP);
};
const cut = (strength = 0.4) => ({ change: strength, lasting: strength });

test('an asset without a cut has one shot', () => {
  expect(shotsOf(100, {})).toEqual([0]);
  expect(findShots({ ticks: [], change: [], lasting: [], dissolve: [], blank: [] }, TIMESCALE, 5000)).toEqual([0]);
});

test('a cut stands out from what changes around it', () => {
  expect(shotsOf(100, { 50: cut() })).toEqual([0, 2]);
  expect(shotsOf(100, { 50: cut(0.05) })).toEqual([0]);
  // Fast movement everywhere.
  expect(shotsOf(100, { 50: cut(0.4) }, 0.15)).toEqual([0]);
});

test('what changes much but does not last is no cut', () => {
  expect(shotsOf(100, { 50: { change: 0.5 }, 51: { change: 0.5 } })).toEqual([0]);
});

test('no shot is shorter than half a second, at both ends either', () => {
  expect(shotsOf(100, { 50: cut(0.3), 55: cut(0.4) })).toEqual([0, 2.2]);
  expect(shotsOf(100, { 12: cut(), 89: cut() })).toEqual([0]);
  expect(shotsOf(100, { 13: cut(), 87: cut() })).toEqual([0, 0.52, 3.48]);
});

test('a dissolve has one border, where its ends differ most; a cut beside it wins', () => {
  const dissolve = Object.fromEntries([45, 46, 47, 48, 49].map((at) => [at, { dissolve: at === 47 ? 0.5 : 0.3 }]));
  expect(shotsOf(100, dissolve)).toEqual([0, 1.88]);
  expect(shotsOf(100, { ...dissolve, 52: cut(0.1) })).toEqual([0, 2.08]);
});

test('between two fades the border is in the middle of the black; black at the ends is none', () => {
  const black = (from: number, end: number) =>
    Object.fromEntries(Array.from({ length: end - from }, (_, at) => [from + at, { blank: 1 }]));
  expect(shotsOf(100, black(45, 55))).toEqual([0, 2]);
  expect(shotsOf(100, { ...black(0, 20), ...black(80, 100) })).toEqual([0]);
  // A cut to black is itself the boundary.
  const cutToBlack: Record<number, Special> = black(45, 55);
  cutToBlack[45] = { blank: 1, ...cut() };
  expect(shotsOf(100, cutToBlack)).toEqual([0, 1.8]);
});

test('twelve hours full of borders are one shot each, and may be one long dissolve', () => {
  const frames = (12 * 3600 * 1000) / STEP;
  const cuts = Object.fromEntries(Array.from({ length: frames / 4 }, (_, at) => [at * 4, cut()]));
  const shots = shotsOf(frames, cuts);
  expect(shots.slice(0, 3)).toEqual([0, 0.64, 1.28]);
  expect(shots).toHaveLength(67_500);
  expect(shotsOf(frames, {}, 0.005, 0.3)).toHaveLength(2);
});

test('the work grows with the length, not with its square', () => {
  const stepsFor = (frames: number): number => {
    let steps = 0;
    // Every comparison or sum of a timestamp calls `valueOf`.
    const counted = (value: number) => ({ valueOf: () => ++steps && value }) as unknown as number;
    const every = (value: number) => Array.from({ length: frames }, () => value);
    const cuts = Array.from({ length: frames }, (_, at) => (at % 4 === 0 ? 0.4 : 0));
    const ticks = Array.from({ length: frames }, (_, at) => counted(at * STEP));
    findShots({ ticks, change: cuts, lasting: cuts, dissolve: every(0), blank: every(0) }, TIMESCALE, frames * STEP);
    return steps;
  };
  expect(stepsFor(8000) / stepsFor(2000)).toBeLessThan(6);
});
