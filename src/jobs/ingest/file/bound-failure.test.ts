import { expect, it } from 'vitest';
import { type ErrorCode, KinoraError, type KinoraErrorOptions } from '../../../lib/errors.js';
import { boundFailure } from './bound-failure.js';

/**
 * What becomes of an error in a run before which media processes crashed `crashes` times on the
 * file.
 */
const bounded = async (code: ErrorCode, options: KinoraErrorOptions = {}, crashes = 0) => {
  const error = new KinoraError(code, options);
  let counted = crashes;
  const result = await boundFailure(error, async () => ++counted);
  return { error, result, counted: counted - crashes };
};

it('says that a file on which FFmpeg reports an error is damaged', async () => {
  const { error, result, counted } = await bounded('media_failed');
  const messages = ["The input file is damaged and can't be played."];
  expect(result).toMatchObject({ code: 'invalid_input', failure: 'fail', messages, cause: error });
  expect(counted).toBe(0);
});

it('makes the failure of a download final, with its messages', async () => {
  const messages = ['Why.'];
  const { error, result, counted } = await bounded('source_unreachable', { messages });
  expect(error.failure).toBe('retry');
  expect(result).toMatchObject({ code: 'source_unreachable', failure: 'fail', messages, cause: error });
  expect(counted).toBe(0);
});

it.each([
  ['a crash', 'media_crashed', {}],
  ['a media process without an answer', 'media_failed', { failure: 'defect' }],
] as const)('makes the second of %s final', async (_name, code, options) => {
  const first = await bounded(code, options);
  expect([first.result, first.counted]).toEqual([first.error, 1]);
  const { error, result, counted } = await bounded(code, options, 1);
  expect(result).toMatchObject({ code: 'media_crashed', failure: 'fail', cause: error });
  expect(counted).toBe(1);
});

it.each(['invalid_input', 'unavailable', 'cancelled'] as const)('keeps every other error: %s', async (code) => {
  const { error, result, counted } = await bounded(code);
  expect(result).toBe(error);
  expect(counted).toBe(0);
});

it.each([
  ['a feature that FFmpeg lacks', { operation: 'decode', code: -0x45574150 }, 'uses a feature of its format or codec'],
  [
    'frames that no filter takes',
    { operation: 'filter scale=2:2', code: -22 },
    'the pixels or the colors of its video',
  ],
  ['anything else', { operation: 'decode', code: -22 }, 'is damaged'],
])('names %s', async (_, details, text) => {
  const { result } = await bounded('media_failed', { details });
  expect(result).toMatchObject({ code: 'invalid_input', messages: [expect.stringContaining(text)] });
});
