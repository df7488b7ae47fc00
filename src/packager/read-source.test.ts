import { expect, it } from 'vitest';
import type { ByteRanges } from '../lib/byte-ranges.js';
import { KinoraError } from '../lib/errors.js';
import { readSource } from './read-source.js';

const source = () => {
  const opened: (ByteRanges | undefined)[] = [];
  let open = 0;
  return {
    opened,
    get isOpen() {
      return open > 0;
    },
    open: async (needed: ByteRanges | undefined) => {
      opened.push(needed);
      open += 1;
      return {
        release: async () => {
          open -= 1;
        },
      };
    },
  };
};
const missing = (start: number): KinoraError =>
  new KinoraError('range_missing', { details: { missing: { start, end: start + 10 } } });

it('opens the source again with what a job found missing, and keeps nothing open', async () => {
  const file = source();
  const starts = [500, 900];
  const result = await readSource(file.open, { ranges: [{ start: 0, end: 100 }], isStored: false }, async () => {
    const next = starts.shift();
    if (next !== undefined) throw missing(next);
    return 'made';
  });
  expect(result).toBe('made');
  expect(file.opened.map((ranges) => ranges?.map(({ start }) => start))).toEqual([[0], [0, 500], [0, 500, 900]]);
  expect(file.isOpen).toBe(false);
});

it('gives up a job that always needs more', async () => {
  const file = source();
  let calls = 0;
  const read = readSource(file.open, { ranges: [], isStored: false }, async () => {
    calls += 1;
    throw missing(calls * 1000);
  });
  await expect(read).rejects.toMatchObject({ code: 'range_missing' });
  expect(calls).toBe(16);
  expect(file.isOpen).toBe(false);
});

it('passes other failures on', async () => {
  const file = source();
  const read = readSource(file.open, undefined, async () => {
    throw new KinoraError('media_failed');
  });
  await expect(read).rejects.toMatchObject({ code: 'media_failed' });
  expect(file.isOpen).toBe(false);
});
