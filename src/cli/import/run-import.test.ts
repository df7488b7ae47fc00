import { expect, it } from 'vitest';
import { KinoraError } from '../../lib/errors.js';
import type { SourceApi, SourceResponse } from '../../net/source-api.js';
import { type ImportOptions, runImport } from './run-import.js';

/** 50 assets or restrictions, the most that a page has. */
const PAGE = Array.from({ length: 50 }, (_, index) => ({ id: `${index}`, created_at: '1', status: 'errored' }));

it.each<[string, (page: number) => Partial<SourceResponse<unknown>>]>([
  ['ignores the number of the page', () => ({})],
  ['repeats a cursor', () => ({ next_cursor: 'again' })],
  ['has a new cursor for the same page', (page) => ({ next_cursor: `${page}` })],
])('ends the list of a source that %s', async (_, more) => {
  let pages = 0;
  const call = async (_method: string, path: string): Promise<unknown> => {
    if (path.includes('whoami')) return { data: {} };
    if (!/assets|restrictions/.test(path)) throw new KinoraError('not_found');
    pages += 1;
    if (pages > 20) throw new Error('asked for ever');
    return { data: PAGE, ...more(pages) };
  };
  const { signal } = new AbortController();
  const report = await runImport({
    ...{ api: { call } as unknown as SourceApi, server: async () => ({ trackErrors: {} }) },
    ...{ concurrency: 1, isDryRun: true, signal, stopping: signal, onMoved: () => undefined },
  } as unknown as ImportOptions);
  expect(report.assets.map(({ assetId }) => assetId)).toEqual(PAGE.map(({ id }) => id));
  expect(report.playbackRestrictions).toBe(PAGE.length);
  expect(pages).toBe(4);
});
