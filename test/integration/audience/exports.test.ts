import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '#kinora/db/database.js';
import { describeOnBothEngines } from '../../contract/engines.js';
import { type Api, startApi } from '../../support/servers/api.js';
import { statementsOf } from '../../support/statements.js';
import { storeViews, type ViewFields } from '../../support/stored-views.js';

const DAY_MS = 24 * 3600_000;
const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
const dateOf = (daysAgo: number): string => new Date(today - daysAgo * DAY_MS).toISOString().slice(0, 10);
const at = (daysAgo: number, ms: number): Date => new Date(today - daysAgo * DAY_MS + ms);

/** The records of a CSV file, as RFC 4180 says. */
const parseCsv = (text: string): string[][] => {
  const records: string[][] = [[]];
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    records.at(-1)!.push(quoted?.replaceAll('""', '"') ?? plain!);
    if (end !== ',') records.push([]);
  }
  expect(records.pop()).toEqual([]);
  return records;
};

describeOnBothEngines('exports of views', (database: () => Database) => {
  let api: Api;
  let environmentId: string;
  beforeAll(async () => {
    api = await startApi({ database: database() });
    const { id } = await api.database.queryable.selectFrom('environment').select('id').executeTakeFirstOrThrow();
    environmentId = id;
    const foreign = await api.newEnvironment('foreign');
    await storeViews(api.database, foreign.id, [{ id: 'foreign', started_at: at(2, 1000) }]);
    await storeViews(api.database, environmentId, [
      { id: 'today', started_at: at(0, 0) },
      { id: 'last-moment', started_at: at(1, DAY_MS - 1) },
      {
        id: 'first-moment',
        started_at: at(1, 0),
        ended_at: at(1, 90_000),
        watch_time: 90_000,
        dimensions: {
          video_title: '=HYPERLINK("http://evil.example")',
          browser: '@sum',
          country: 'DE',
          custom_1: '-5',
        },
        details: { player_error_message: 'one, "two"\nthree', viewer_user_agent: '+1+cmd' },
        events: [['viewstart', at(1, 0).getTime(), 0, { note: '=1' }]],
      },
      ...Array.from(
        { length: 450 },
        (_, number): ViewFields => ({ id: `many-${String(number).padStart(3, '0')}`, started_at: at(4, 5000) }),
      ),
    ]);
  });
  afterAll(() => api?.stop());

  const exports = async (): Promise<{ export_date: string; files: { path: string; type: string }[] }[]> =>
    (await (await api.call('GET', '/data/v1/exports/views')).json()).data;
  const fileOf = async (daysAgo: number): Promise<string> =>
    (await exports()).find(({ export_date }) => export_date === dateOf(daysAgo))!.files[0]!.path;

  it('are listed for each past day that has views', async () => {
    const response = await (await api.call('GET', '/data/v1/exports/views')).json();
    expect(response.data.map(({ export_date }: { export_date: string }) => export_date)).toEqual([
      dateOf(1),
      dateOf(4),
    ]);
    expect(response.data[0].files).toEqual([{ path: expect.stringContaining(api.origin), type: 'csv', version: 1 }]);
    expect(response).toMatchObject({ total_row_count: 2, timeframe: [(today - 4 * DAY_MS) / 1000, today / 1000] });
  });

  it('have the fields of a view as columns, and nothing that a spreadsheet runs', async () => {
    const response = await fetch(await fileOf(1));
    expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(response.headers.get('content-disposition')).toBe(`attachment; filename="views-${dateOf(1)}.csv"`);
    const [header, ...rows] = parseCsv(await response.text());
    const { data } = await (await api.call('GET', '/data/v1/video-views/first-moment')).json();
    expect(header!.toSorted()).toEqual(Object.keys(data).toSorted());
    const views = rows.map((row) => Object.fromEntries(row.map((cell, column) => [header![column]!, cell])));
    expect(views.map(({ id }) => id)).toEqual(['first-moment', 'last-moment']);
    expect(views[0]).toMatchObject({
      video_title: `'=HYPERLINK("http://evil.example")`,
      viewer_application_name: `'@sum`,
      viewer_user_agent: `'+1+cmd`,
      custom_1: '-5',
      country_code: 'DE',
      player_error_message: 'one, "two"\nthree',
      watch_time: '90000',
      view_playing_time: '',
      watched: 'false',
      video_cdn_trace: '[]',
      view_end: data.view_end,
      events: JSON.stringify(data.events),
    });
  });

  it('are read page by page while they are sent', async () => {
    const path = await fileOf(4);
    const [, ...rows] = parseCsv(await (await fetch(path)).text());
    expect(rows.map(([id]) => id)).toEqual(Array.from({ length: 450 }, (_, n) => `many-${String(n).padStart(3, '0')}`));
  });

  it('need their signature, which expires', async () => {
    const path = await fileOf(1);
    const head = await fetch(path, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    const forbidden = async (url: string) => (await fetch(url)).status;
    expect(await forbidden(path.replace(dateOf(1), dateOf(0)))).toBe(403);
    expect(await forbidden(path.replace(environmentId, 'aaaaaa'))).toBe(403);
    expect(await forbidden(path.replace(/expires=\d+/, 'expires=99999999999'))).toBe(403);
    expect(await forbidden(path.replace('.csv', '.txt'))).toBe(404);
    expect(await forbidden(path.split('?')[0]!)).toBe(403);
    api.clock.daysAhead = 1;
    expect(await forbidden(path)).toBe(403);
    api.clock.daysAhead = 0;
  });

  it('are listed without reading the views', async () => {
    const statements = await statementsOf(exports);
    expect(statements.filter((text) => text.includes('video_view'))).toHaveLength(1);
  });
});
