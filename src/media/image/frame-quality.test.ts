import { expect, test } from 'vitest';
import { lookOf, measureFrame, pickBest, readQualities, sampleTimes, thumbnailScores } from './frame-quality.js';

const WIDTH = 64;
const HEIGHT = 36;
const plane = (value: (x: number, y: number) => number) => ({
  data: Uint8Array.from({ length: WIDTH * HEIGHT }, (_, at) => value(at % WIDTH, Math.floor(at / WIDTH))),
  stride: WIDTH,
  width: WIDTH,
  height: HEIGHT,
});
type Plane = ReturnType<typeof plane>;
const both = (value: number): [Plane, Plane] => [plane(() => value), plane(() => value)];
const gray = both(128);
const colored = both(170);
const overall = (luma: Plane, chroma = colored) => {
  const quality = measureFrame(luma, chroma);
  return thumbnailScores(quality, lookOf([quality])).overall;
};

const sharp = plane((x, y) => (((x >> 2) + (y >> 2)) % 2 === 0 ? 60 : 200));
const soft = plane((x) => 60 + 2 * x);
const black = plane(() => 16);

test('sharp frames beat soft ones, and both beat black', () => {
  expect(overall(sharp)).toBeGreaterThan(overall(soft));
  expect(overall(soft)).toBeGreaterThan(overall(black));
  expect(measureFrame(black, gray)).toMatchObject({ focus: 0, contrast: 0, color: 0, detail: 0 });
});

test('color counts', () => {
  expect(overall(sharp, colored)).toBeGreaterThan(overall(sharp, gray));
});

test('a frame fits its video as far as it has the same colors', () => {
  const half: [Plane, Plane] = [plane((x) => (x < WIDTH / 2 ? 128 : 170)), plane((x) => (x < WIDTH / 2 ? 128 : 170))];
  const frames = [gray, gray, half].map((chroma) => measureFrame(sharp, chroma));
  const look = lookOf(frames);
  const fits = [...frames, measureFrame(sharp, both(250))].map(
    (frame) => thumbnailScores(frame, look).subscores.brand_fit,
  );
  expect(fits.map((fit) => Math.round(fit * 1000))).toEqual([833, 833, 667, 0]);
});

test('the best are picked from different moments, the best first', () => {
  const candidates = [
    { seconds: 1, overall: 0.9 },
    { seconds: 1.4, overall: 0.95 },
    { seconds: 5, overall: 0.3 },
  ];
  expect(pickBest(candidates, 2, 1).map(({ seconds }) => seconds)).toEqual([1.4, 5]);
});

test('moments are looked at in the middle of equal parts', () => {
  expect(sampleTimes(10, 20, 2)).toEqual([12.5, 17.5]);
});

test('what is no measure is not taken for one', () => {
  const good = { ticks: 0, ...measureFrame(sharp, gray) };
  expect(readQualities([good], 1)).toEqual([good]);
  for (const bad of [
    [],
    [null],
    [{ ...good, ticks: -1 }],
    [{ ...good, focus: 2 }],
    [{ ...good, focus: 'x' }],
    [{ ...good, focus: '0.5' }],
    [{ ...good, palette: [1] }],
    [{ ...good, palette: good.palette.map(() => -1) }],
    { 0: good },
  ])
    expect(readQualities(bad, 1)).toBeUndefined();
});
