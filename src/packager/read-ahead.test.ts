import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ReadAhead } from './read-ahead.js';

const asset = { id: 'a' };
let made: string[];
let aborted: string[];
let finish: Map<string, () => void>;

const readAhead = (maxRunning = 100) =>
  new ReadAhead<{ id: string }>({
    produce: (_, rendition, number, signal) => {
      const name = `${rendition}/${number}`;
      made.push(name);
      signal.addEventListener('abort', () => aborted.push(name));
      return new Promise<void>((resolve) => finish.set(name, resolve));
    },
    maxRunning,
    idleMs: 1000,
  });

beforeEach(() => {
  vi.useFakeTimers();
  made = [];
  aborted = [];
  finish = new Map();
});
afterEach(() => {
  vi.useRealTimers();
});

test('one segment after the first look, two once the viewer moves on', () => {
  const ahead = readAhead();
  ahead.note(asset, '720p', 0, 10);
  expect(made).toEqual(['720p/1']);
  ahead.note(asset, '720p', 1, 10);
  expect(made).toEqual(['720p/1', '720p/2', '720p/3']);
  ahead.stop();
});

test('nothing beyond the end', () => {
  const ahead = readAhead();
  ahead.note(asset, '720p', 8, 10);
  ahead.note(asset, '720p', 9, 10);
  expect(made).toEqual(['720p/9']);
  ahead.stop();
});

test('scrubbing cancels what the places before have begun', () => {
  const ahead = readAhead();
  ahead.note(asset, '720p', 0, 100);
  ahead.note(asset, '720p', 50, 100);
  ahead.note(asset, '720p', 20, 100);
  expect(aborted).toEqual(['720p/1', '720p/51']);
  ahead.stop();
});

test('two viewers who play do not disturb each other', () => {
  const ahead = readAhead();
  for (const number of [0, 1]) ahead.note(asset, '720p', number, 100);
  for (const number of [50, 51]) ahead.note(asset, '720p', number, 100);
  ahead.note(asset, '720p', 2, 100);
  expect(made.slice(-1)).toEqual(['720p/4']);
  // A viewer no longer needs what has been served in the meantime; the other viewer's segments are
  // unaffected.
  expect(aborted).toEqual(['720p/1', '720p/51', '720p/2']);
  ahead.stop();
});

test('a change of rendition goes on where the viewer was and drops the old one', () => {
  const ahead = readAhead();
  for (const number of [0, 1]) ahead.note(asset, '480p', number, 100);
  made = [];
  ahead.note(asset, '720p', 2, 100);
  expect(made).toEqual(['720p/3', '720p/4']);
  expect(aborted).toEqual(['480p/1', '480p/2', '480p/3']);
  ahead.stop();
});

test('what was dropped is begun again for a viewer who comes back before it has ended', async () => {
  const ahead = readAhead();
  for (const number of [0, 1]) ahead.note(asset, '480p', number, 100);
  ahead.note(asset, '720p', 1, 100);
  expect(aborted).toEqual(['480p/1', '480p/2', '480p/3']);
  const finishDropped = [...finish.values()];
  made = [];
  ahead.note(asset, '480p', 1, 100);
  expect(made).toEqual(['480p/2', '480p/3']);
  // The end of what was dropped does not hide what is under way now.
  for (const end of finishDropped) end();
  await vi.advanceTimersByTimeAsync(0);
  ahead.note(asset, '480p', 1, 100);
  expect(made).toEqual(['480p/2', '480p/3']);
  ahead.stop();
});

test('a viewer who stays away loses the work begun for him', () => {
  const ahead = readAhead();
  ahead.note(asset, '720p', 0, 10);
  vi.advanceTimersByTime(999);
  expect(aborted).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(aborted).toEqual(['720p/1']);
});

test('the number of unfinished segments is bounded', async () => {
  const ahead = readAhead(1);
  ahead.note(asset, '720p', 0, 10);
  ahead.note({ id: 'b' }, '720p', 0, 10);
  expect(made).toEqual(['720p/1']);
  finish.get('720p/1')!();
  await vi.advanceTimersByTimeAsync(0);
  ahead.note({ id: 'b' }, '720p', 1, 10);
  expect(made).toEqual(['720p/1', '720p/2']);
  ahead.stop();
});

test('what a playing viewer will need is fetched in windows, each part once', () => {
  const fetched: [first: number, end: number][] = [];
  const ahead = new ReadAhead<{ id: string }>({
    produce: async () => undefined,
    fetch: (_, first, end) => fetched.push([first, end]),
    maxRunning: 100,
    idleMs: 1000,
  });
  ahead.note(asset, '720p', 0, 30);
  expect(fetched).toEqual([]);
  for (let number = 1; number < 30; number += 1) ahead.note(asset, '720p', number, 30);
  expect(fetched).toEqual([
    [4, 12],
    [12, 20],
    [20, 28],
    [28, 30],
  ]);
  // After a seek, from there on.
  for (const number of [100, 101]) ahead.note({ id: 'b' }, '720p', number, 200);
  expect(fetched.at(-1)).toEqual([104, 112]);
  ahead.stop();
});
