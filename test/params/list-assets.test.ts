import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, startApi } from '../support/servers/api.js';
import { expectError } from '../support/wire/expect-error.js';

let api: Api;
/** Newest first. */
const ids: string[] = [];
beforeAll(async () => {
  api = await startApi();
  for (let count = 0; count < 7; count++) {
    const created = await api.call('POST', '/video/v1/assets', { inputs: 'https://media.example.org/walk.mp4' });
    ids.unshift((await created.json()).data.id);
  }
  // All in one millisecond, so that only the sequence tells them apart.
  await api.database.queryable
    .updateTable('asset')
    .set({ created_at: new Date(1_767_225_600_000) })
    .execute();
});
afterAll(() => api?.stop());

const list = (query: string) => api.call('GET', `/video/v1/assets${query}`);
const idsOf = async (query: string): Promise<string[]> =>
  (await (await list(query)).json()).data.map(({ id }: { id: string }) => id);

describe('GET /video/v1/assets refuses', () => {
  it.each<[string, string[]]>([
    ['limit=0', ['limit must be a positive integer']],
    ['limit=-1', ['limit must be a positive integer']],
    ['limit=2.5', ['limit must be a positive integer']],
    ['limit=ten', ['limit must be a positive integer']],
    ['page=0', ['page must be a positive integer']],
    ['page=x', ['page must be a positive integer']],
    ['cursor=x', ['cursor is invalid']],
    ['cursor=', ['cursor is invalid']],
    ['page=0&limit=0', ['page must be a positive integer', 'limit must be a positive integer']],
  ])('%s', async (query, messages) => {
    await expectError(await list(`?${query}`), 400, 'invalid_parameters', messages);
  });
});

describe('GET /video/v1/assets answers', () => {
  it.each<[string, (all: string[]) => string[]]>([
    ['', (all) => all],
    ['?limit=&page=', (all) => all],
    ['?limit=3', (all) => all.slice(0, 3)],
    ['?limit=3&page=2', (all) => all.slice(3, 6)],
    ['?limit=3&page=3', (all) => all.slice(6)],
    ['?limit=3&page=4', () => []],
    ['?page=99999999999999999999999', () => []],
    ['?limit=99999999999999999999999', (all) => all],
    ['?limit=1&limit=2', (all) => all.slice(0, 2)],
    ['?unknown=1', (all) => all],
    ['?upload_id=nothing', () => []],
    ['?upload_id=a%00b', () => []],
    ['?live_stream_id=nothing', () => []],
  ])('%s', async (query, expected) => {
    expect(await idsOf(query)).toEqual(expected(ids));
  });

  it('with cursors that lead through everything once, whatever is created meanwhile', async () => {
    const first = await (await list('?limit=3')).json();
    expect(first.next_cursor).toMatch(/^[A-Za-z0-9_-]+$/);
    await api.call('POST', '/video/v1/assets', { inputs: 'https://media.example.org/new.mp4' });
    const second = await (await list(`?limit=3&page=9&cursor=${first.next_cursor}`)).json();
    const third = await (await list(`?limit=3&cursor=${second.next_cursor}`)).json();
    const found = [...first.data, ...second.data, ...third.data].map(({ id }) => id);
    expect(found).toEqual(ids);
    expect(third.next_cursor).toBeNull();
  });

  it('through the SDK, page by page to the end', async () => {
    const found: string[] = [];
    for await (const asset of api.sdk().video.assets.list({ limit: 2 })) found.push(asset.id);
    expect(found.slice(-ids.length)).toEqual(ids);
    expect(new Set(found).size).toBe(found.length);
  });

  it('with at most 100 items and the asset of an upload', async () => {
    const rows = await api.database.queryable.selectFrom('asset').selectAll().limit(1).execute();
    const { seq: _, ...row } = rows[0]!;
    const copies = Array.from({ length: 101 }, (_unused, at) => ({
      ...row,
      id: String(at).padStart(40, 'c'),
      upload_id: String(at).padStart(40, 'u'),
    }));
    await api.database.queryable
      .insertInto('asset')
      .values(copies as never)
      .execute();
    expect(await idsOf('?limit=1000')).toHaveLength(100);
    expect(await idsOf('')).toHaveLength(25);
    const uploadId = '7'.padStart(40, 'u');
    expect(await idsOf(`?upload_id=${uploadId}`)).toEqual(['7'.padStart(40, 'c')]);
    const response = await (await list(`?upload_id=${uploadId}`)).json();
    expect(response.data[0].upload_id).toBe(uploadId);
    expect(response.next_cursor).toBeNull();
  });
});
