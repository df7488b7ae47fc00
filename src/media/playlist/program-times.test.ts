import { expect, test } from 'vitest';
import { parsePlaybackModifiers } from './playback-modifiers.js';
import { recordedAt } from './program-times.js';

const sessions = [
  { startedAtSeconds: 1000, durationSeconds: 10 },
  { startedAtSeconds: 1030, durationSeconds: 5.5 },
];

test.each([
  ['before the recording', 0, 0],
  ['at its start', 1000, 0],
  ['within the first session', 1004.25, 4.25],
  ['at the end of the first session', 1010, 10],
  ['between the sessions', 1020, 10],
  ['within the second session', 1031.5, 11.5],
  ['behind the end', 2000, 15.5],
])('%s', (_, program, seconds) => {
  expect(recordedAt(sessions, program)).toBe(seconds);
});

test.each([
  ['before the session', 1011.5, 11.5],
  ['at its start, within the slate', 1011.6, 14],
  ['behind the end of the slate', 1014.1, 16.5],
])('a slate ends after the next session has begun: %s', (_, program, seconds) => {
  const overlapping = [
    { startedAtSeconds: 1000, durationSeconds: 10 },
    { startedAtSeconds: 1010, durationSeconds: 4 },
    { startedAtSeconds: 1011.6, durationSeconds: 6 },
  ];
  expect(recordedAt(overlapping, program)).toBeCloseTo(seconds);
});

const clip = (values: Record<string, unknown>, duration = 15.5) => parsePlaybackModifiers(values, duration, sessions);
const invalid = { invalid: 'Invalid parameter: program_start_time' };

test('a clip of a recording by the wall clock is one by its own', () => {
  expect(clip({ program_start_time: 1004, program_end_time: '1032' })).toMatchObject({
    ...{ assetStartSeconds: 4.05, assetEndSeconds: 11.95 },
  });
  expect(clip({ program_end_time: '1005' })).toMatchObject({ assetStartSeconds: 0, assetEndSeconds: 4.95 });
  expect(clip({ program_start_time: '1031' })).toMatchObject({ assetStartSeconds: 11.05, assetEndSeconds: 15.45 });
  expect(clip({ program_start_time: '1031' })).not.toHaveProperty('programStartSeconds');
});

test('a clip of which nothing was recorded is refused', () => {
  expect(clip({ program_start_time: '2000' })).toEqual(invalid);
  expect(clip({ program_start_time: '500', program_end_time: '900' })).toEqual(invalid);
  expect(clip({ program_start_time: '1012', program_end_time: '1020' })).toEqual(invalid);
  expect(clip({ program_start_time: '1004', program_end_time: '1003' })).toEqual(invalid);
  expect(parsePlaybackModifiers({ program_start_time: '1004' }, 15.5)).toEqual(invalid);
});
