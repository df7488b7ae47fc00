import { expect, test } from 'vitest';
import { parseStart, readSettings } from './settings.js';

test.each([
  ['90', 90],
  ['90.5', 90.5],
  ['90s', 90],
  ['1m30s', 90],
  ['2h', 7200],
  ['1h2m3s', 3723],
  ['', 0],
  ['-5', 0],
  ['soon', 0],
  [null, 0],
])('%j starts at %d seconds', (text, seconds) => {
  expect(parseStart(text)).toBe(seconds);
});

test.each([
  ['', false, true, false],
  ['', true, false, true],
  ['autoplay', true, true, false],
  ['autoplay=false', false, false, true],
  ['autoplay=0', false, false, true],
  ['poster=/a.jpg', false, true, true],
])('?%s, framed: %j', (query, isFramed, isAutoplaying, showsPoster) => {
  const settings = readSettings(new URLSearchParams(query), isFramed);
  const otherwise = { startSeconds: 0, isMuted: false, isLooping: false, isTracking: true };
  expect(settings).toEqual({ ...otherwise, isAutoplaying, showsPoster });
});

test('nothing is reported of a page that does not want it', () => {
  expect(readSettings(new URLSearchParams('tracking=false'), false).isTracking).toBe(false);
});

test('a parameter without a value switches on', () => {
  const settings = readSettings(new URLSearchParams('muted&loop=1&t=5'), false);
  expect(settings).toMatchObject({ isMuted: true, isLooping: true, startSeconds: 5 });
});
