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
const missing = (...starts: readonly number[]): KinoraError =>
  new KinoraError('range_missing', { details: { missing: starts.map((start) => ({ start, end: start + 10 })) } });

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

it('shares what it fetches beyond the missing parts among them', async () => {
  const fetchedFor = async (parts: number): Promise<number> => {
    const file = source();
    let tries = 0;
    await readSource(file.open, { ranges: [], isStored: false }, async () => {
      tries += 1;
      const starts = Array.from({ length: parts }, (_, part) => part * 1e8);
      if (tries === 1) throw missing(...starts);
    });
    expect(file.opened[1]).toHaveLength(parts);
    return file.opened[1]!.reduce((sum, { start, end }) => sum + end - start, 0);
  };
  expect((await fetchedFor(4)) / (await fetchedFor(1))).toBeCloseTo(1, 3);
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
