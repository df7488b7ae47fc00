import { expect, it } from 'vitest';
import { type ErrorCode, KinoraError } from '../../lib/errors.js';
import { playbackError } from '../stream/playback-error.js';
import { logFailure } from './log-failure.js';

const levelsOf = (error: unknown, status: number): string[] => {
  const levels: string[] = [];
  const log = { error: () => levels.push('error'), warn: () => levels.push('warn') };
  logFailure(log as never, error, status);
  return levels;
};

it.each<[ErrorCode, string[]]>([
  ['not_found', []],
  ['unsupported_media_type', []],
  ['unavailable', ['warn']],
  ['invalid_input', ['error']],
  ['media_failed', ['error']],
  ['internal_error', ['error']],
])('logs what becomes 500 for a viewer as an error: %s', (code, levels) => {
  const error = new KinoraError(code);
  expect(levelsOf(error, playbackError(error).status)).toEqual(levels);
});

it('logs what is unavailable for a reason as an error', () => {
  expect(levelsOf(new KinoraError('unavailable', { cause: new Error('lost') }), 503)).toEqual(['error']);
  expect(levelsOf(new Error('defect'), 500)).toEqual(['error']);
});
