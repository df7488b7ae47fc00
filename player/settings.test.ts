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
  expect(settings).toEqual({ startSeconds: 0, isAutoplaying, isMuted: false, isLooping: false, showsPoster });
});

test('a parameter without a value switches on', () => {
  const settings = readSettings(new URLSearchParams('muted&loop=1&t=5'), false);
  expect(settings).toMatchObject({ isMuted: true, isLooping: true, startSeconds: 5 });
});
