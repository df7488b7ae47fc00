import { CompiledQuery } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '#kinora/db/database.js';
import { migrate } from '#kinora/db/migrate.js';
import { openDatabase } from '#kinora/db/open-database.js';
import { type AssetSearch, countFoundAssets, listFoundAssets } from '#kinora/db/tables/assets/asset-search.js';
import { insertEnvironment } from '#kinora/db/tables/server/environment.js';
import { quietLogger } from '../../support/logger.js';
import { type Api, startApi } from '../../support/servers/api.js';
import { fillAssets } from '../../support/servers/many-assets.js';
import { hasPostgres, startPostgres } from '../../support/servers/postgres.js';
import { type ConsoleSession, signIn } from '../../support/wire/console.js';

let api: Api;
let app: ConsoleSession;
beforeAll(async () => {
  api = await startApi();
  await fillAssets(api.database);
  app = await signIn(api);
});
afterAll(() => api?.stop());

const list = async (query: Record<string, string | number>) => {
  const text = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
  const response = await app.call('GET', `/console/api/assets?${text}`);
  const body = await response.json();
  if (response.status !== 200) return { status: response.status, messages: body.error.messages };
  const titles = body.data.map(({ meta }: { meta?: { title: string } }) => meta?.title ?? null);
  return { titles, total: body.total_row_count, data: body.data };
};

describe('the list of assets', () => {
  it('has pages, newest first, with the total and a public playback ID for the poster', async () => {
    const { titles, total, data } = await list({ limit: 5 });
    expect(titles).toEqual(['Title 1', 'Title 2', null, 'Title 4', 'Title 5']);
    expect(total).toBe(10_000);
    expect(data[0].poster_playback_id).toBe('1'.padStart(40, 'P'));
    expect(data[2].poster_playback_id).toBeNull();
    expect(data[1]).toMatchObject({ id: '2'.padStart(40, 'A'), status: 'ready', duration: 2 });
    expect((await list({ limit: 3, page: 3333 })).titles).toEqual(['Title 9997', 'Title 9998', 'Title 9999']);
    expect((await list({ limit: 100, page: 1e15 })).titles).toEqual([]);
  });

  it('equals the public list, field by field', async () => {
    const listed = (await (await app.call('GET', '/video/v1/assets?limit=20')).json()).data;
    const { data } = await list({ limit: 20 });
    for (const asset of data) delete asset.poster_playback_id;
    expect(data).toEqual(listed);
  });

  it('filters by status and policy', async () => {
    expect(await list({ status: 'errored', limit: 2 })).toMatchObject({
      titles: ['Title 50', 'Title 100'],
      total: 200,
    });
    expect((await list({ status: 'preparing' })).total).toBe(500);
    expect((await list({ policy: 'signed' })).total).toBe(3333);
    expect((await list({ policy: 'drm' })).total).toBe(0);
    expect((await list({ status: 'errored', policy: 'signed', search: '1500' })).titles).toEqual(['Title 1500']);
  });

  it('sorts by title and duration, both ways', async () => {
    expect((await list({ sort: 'title', limit: 2 })).titles).toEqual(['Title 1', 'Title 10']);
    expect((await list({ sort: '-duration', limit: 2 })).titles).toEqual(['Title 9999', 'Title 9998']);
    expect((await list({ sort: 'duration', limit: 1, status: 'ready' })).titles).toEqual(['Title 2']);
    expect((await list({ sort: 'created_at', limit: 1 })).titles).toEqual(['Title 10000']);
    expect((await list({ sort: '-title', search: 'title', limit: 1 })).titles).toEqual(['Title 9999']);
  });

  it('searches titles in any case, and whole IDs', async () => {
    expect((await list({ search: 'tItLe 999' })).total).toBe(10);
    expect((await list({ search: 'P'.repeat(36).concat('4321') })).titles).toEqual(['Title 4321']);
    expect((await list({ search: '4321'.padStart(40, 'A') })).titles).toEqual(['Title 4321']);
    expect((await list({ search: '  ' })).total).toBe(10_000);
  });

  it('finds titles as they are written, whatever characters they have', async () => {
    const titles = [
      '100 %',
      'a_b',
      'back\\slash',
      "O'Neil; drop table asset",
      'ÄRGER über Öl',
      '日本語',
      '"quoted" <b>',
    ];
    for (const title of titles) {
      const body = { inputs: [{ url: 'https://example.com/a.mp4' }], meta: { title } };
      expect((await app.call('POST', '/video/v1/assets', body)).status).toBe(201);
    }
    for (const title of titles) expect((await list({ search: title })).titles).toEqual([title]);
    expect((await list({ search: '%' })).titles).toEqual(['100 %']);
    expect((await list({ search: '_' })).titles).toEqual(['a_b']);
    expect((await list({ search: '\\' })).titles).toEqual(['back\\slash']);
    expect((await list({ search: 'ärger ÜBER öl' })).titles).toEqual(['ÄRGER über Öl']);
    expect((await list({ search: 'a\0b' })).titles).toEqual([]);
    expect(await list({ search: 'x'.repeat(10_000) })).toEqual({
      status: 400,
      messages: ['search must have at most 512 characters'],
    });
  });

  it.each([
    [{ status: 'gone' }, 'status must be one of: preparing, ready, errored'],
    [{ policy: "' or 1=1" }, 'policy must be one of: public, signed, drm'],
    [
      { sort: 'id; drop table asset' },
      'sort must be one of: created_at, title, duration, -created_at, -title, -duration',
    ],
    [{ limit: -1 }, 'limit must be a positive integer'],
    [{ page: 'two' }, 'page must be a positive integer'],
  ])('refuses %j', async (query, message) => {
    expect(await list(query)).toEqual({ status: 400, messages: [message] });
  });

  it('requires permission to read videos', async () => {
    const other = await signIn(api, await api.newToken({ name: 'no videos', permissions: ['system:read'] }));
    expect((await other.call('GET', '/console/api/assets')).status).toBe(403);
  });
});

type Query = { readonly text: string; readonly values: unknown[] };

/** The plans of the queries of one page; there are two queries. */
const explainPage = async (
  database: Database,
  environmentId: string,
  search: Partial<AssetSearch>,
): Promise<string[]> => {
  const sent: Query[] = [];
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (this: pg.Client, ...args: [Query | string, unknown[]]) {
    sent.push(typeof args[0] === 'string' ? { text: args[0], values: args[1] } : args[0]);
    return Reflect.apply(query, this, args);
  } as typeof query;
  const whole = { limit: 25, offset: 0, status: undefined, policy: undefined, text: undefined, ...newest, ...search };
  try {
    await listFoundAssets(database.queryable, environmentId, whole);
    await countFoundAssets(database.queryable, environmentId, whole);
  } finally {
    pg.Client.prototype.query = query;
  }
  expect(sent).toHaveLength(2);
  return Promise.all(
    sent.map(async ({ text, values }) => {
      const { rows } = await database.queryable.executeQuery(CompiledQuery.raw(`explain ${text}`, values));
      return rows.map((row) => Object.values(row as object)[0]).join('\n');
    }),
  );
};
const newest = { sortBy: 'created_at', isDescending: true } as const;

const expectIndexes = async (database: Database): Promise<void> => {
  const { id } = await database.queryable.selectFrom('environment').selectAll().executeTakeFirstOrThrow();
  const rows: [Partial<AssetSearch>, page: string, count: string][] = [
    [{}, 'asset_newest', ''],
    [{ status: 'errored' }, 'asset_status', 'asset_status'],
    [{ sortBy: 'duration' }, 'asset_duration', ''],
    [{ sortBy: 'duration', isDescending: false }, 'asset_duration', ''],
    [{ sortBy: 'title', isDescending: false }, 'asset_title', ''],
  ];
  for (const [search, ofPage, ofCount] of rows) {
    const [page, count] = await explainPage(database, id, search);
    expect(page, JSON.stringify(search)).toContain(`using ${ofPage}`);
    // The order comes from the index: nothing but the rows of the page is sorted.
    expect(page).not.toContain('Seq Scan on asset');
    expect(count).toContain(ofCount);
  }
};

describe('a page of 10,000 assets is two queries, which use the indexes', () => {
  it('on the embedded engine', () => expectIndexes(api.database));

  it.runIf(hasPostgres())('on PostgreSQL', async () => {
    const postgres = await startPostgres();
    const url = await postgres.createDatabase('console');
    const database = await openDatabase({ dataDir: '', url, logger: quietLogger });
    await migrate(database);
    await insertEnvironment(database.queryable, { id: 'abc123', name: 'Default', type: 'production' });
    await fillAssets(database);
    await expectIndexes(database).finally(async () => {
      await database.close();
      await postgres.stop();
    });
  });
});
