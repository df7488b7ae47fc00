import { afterAll, beforeAll, expect, test } from 'vitest';
import { BudgetLimits } from '#kinora/domain/usage/budget-limits.js';
import { reportBudgets } from '#kinora/domain/usage/report-budgets.js';
import { GENERATION } from '#kinora/media/plan/generation.js';
import { fixture } from '../../support/media/fixtures.js';
import { type PlannedSource, planFile } from '../../support/media/video-run.js';
import { type PreparedAsset, startPlayback } from '../../support/players/playback.js';
import { until } from '../../support/servers/server-process.js';
import type { WireEvent } from '../../support/wire/events.js';

let server: Awaited<ReturnType<typeof startPlayback>>;
let source: PlannedSource;
let asset: PreparedAsset;
let other: PreparedAsset;
let wide: PreparedAsset;

beforeAll(async () => {
  server = await startPlayback();
  source = await planFile(await fixture('h264-aac.mp4'));
  asset = await server.addAsset(source);
  other = await server.addAsset(source);
  wide = await server.addAsset(await planFile(await fixture('copy-720p.mp4')));
});
afterAll(() => server?.stop());

const COLLECTION = '/video/v1/delivery-budgets';
interface Budget {
  readonly id: string;
  readonly delivered_bytes?: number;
  readonly delivered_seconds?: number;
  readonly status: string;
  readonly period_ends_at: string;
}
const call = async (method: string, path: string, body?: object): Promise<Budget> => {
  const response = await server.call(method, path, body);
  expect(response.ok, await response.clone().text()).toBe(true);
  return (response.status === 204 ? undefined : (await response.json()).data) as Budget;
};
const budgetOf = async ({ id }: Budget): Promise<Budget> => call('GET', `${COLLECTION}/${id}`);
const get = (path: string, headers: Record<string, string> = {}) => fetch(server.origin + path, { headers });
const statusOf = async (path: string): Promise<number> => (await get(path)).status;
const playlistOf = ({ publicId }: PreparedAsset): string => `/${publicId}.m3u8`;
const lowest = () => source.video.renditions[0]!.name;
const segmentOf = ({ publicId }: PreparedAsset, number = 0, rendition = lowest()): string =>
  `/${publicId}/${GENERATION}/${rendition}/${number}.m4s`;
const sizeOf = async (path: string): Promise<number> => (await (await get(path)).arrayBuffer()).byteLength;
const listed = async (playable: PreparedAsset, query = ''): Promise<string[]> =>
  [...(await (await get(playlistOf(playable) + query)).text()).matchAll(/^[^#\s]\S*\/\d+\/(\w+)\/playlist/gm)].map(
    ([, name]) => name!,
  );
const eventsOf = async ({ id }: Budget): Promise<WireEvent[]> =>
  (
    (await (await server.call('GET', `/system/v1/events?object_id=${id}&limit=100`)).json()) as { data: WireEvent[] }
  ).data
    .slice()
    .reverse();
const typesOf = async (budget: Budget) =>
  (await eventsOf(budget)).map(({ type }) => type.replace('video.delivery_budget.', ''));
const spent = (budget: Budget) => until('the budget is spent', async () => (await budgetOf(budget)).status === 'spent');

test('a budget of bytes tells at 80 % and 100 %, once each, and stops the asset alone', async () => {
  const segment = await sizeOf(segmentOf(other));
  const audio = await sizeOf(`/${other.publicId}/${GENERATION}/audio/0.m4s`);
  const before = await sizeOf(segmentOf(asset));
  const beforeAudio = await sizeOf(`/${asset.publicId}/${GENERATION}/audio/0.m4s`);
  expect([before, beforeAudio]).toEqual([segment, audio]);
  await until('both are counted', async () => (await deliveredBytes(asset)) === segment + audio);

  // It begins with what was delivered today.
  const bytes = Math.floor((segment * 2 + audio) / 0.85);
  const budget = await call('POST', COLLECTION, { asset_id: asset.assetId, period: 'day', bytes, action: 'stop' });
  expect(budget).toMatchObject({ asset_id: asset.assetId, bytes, delivered_bytes: segment + audio, status: 'within' });
  expect(await statusOf(playlistOf(asset))).toBe(200);

  await sizeOf(segmentOf(asset));
  await until('the warning is recorded', async () => (await typesOf(budget)).length > 0);
  expect(await typesOf(budget)).toEqual(['warning']);
  expect(await statusOf(segmentOf(asset))).toBe(200);
  await spent(budget);
  await until('playback stops', async () => (await statusOf(playlistOf(asset))) === 403);

  const events = await eventsOf(budget);
  expect(events.map(({ type }) => type)).toEqual(['video.delivery_budget.warning', 'video.delivery_budget.spent']);
  expect(events[1]!.object).toEqual({ type: 'delivery_budget', id: budget.id });
  expect(events[1]!.data).toMatchObject({ asset_id: asset.assetId, bytes, action: 'stop', status: 'spent' });
  expect(events[1]!.data.period_ends_at).toBe(Number(budget.period_ends_at));

  const refused = { code: 7, message: 'The delivery budget is spent' };
  const paths = [playlistOf(asset), `/${asset.publicId}.mpd`, segmentOf(asset, 1), `/${asset.publicId}/metadata.json`];
  for (const path of paths) {
    const response = await get(path);
    expect([path, response.status, await response.json()]).toEqual([path, 403, refused]);
    expect(response.headers.get('cache-control')).toBe('no-cache');
  }
  const page = await get(`/${asset.publicId}`, { accept: 'text/html' });
  expect([page.status, await page.text()]).toEqual([403, expect.stringContaining('The delivery budget is spent')]);
  // A token that is not valid is refused for its own reason.
  expect((await (await get(`/${asset.signedId}.m3u8`)).json()).message).toBe('Token is missing');
  // Images stay, and so does everything else of the environment.
  expect(await statusOf(`/${asset.publicId}/thumbnail.webp?time=1&width=100`)).toBe(200);
  expect(await statusOf(segmentOf(other, 1))).toBe(200);

  // Raised, it lets playback go on, and reports the thresholds of the new amount.
  await call('PATCH', `${COLLECTION}/${budget.id}`, { bytes: bytes * 100 });
  await until('playback goes on', async () => (await statusOf(playlistOf(asset))) === 200);
  expect(await statusOf(segmentOf(asset, 1))).toBe(200);
  await call('PATCH', `${COLLECTION}/${budget.id}`, { bytes: 1 });
  await until('playback stops again', async () => (await statusOf(segmentOf(asset))) === 403);
  expect(await typesOf(budget)).toEqual(['warning', 'spent', 'warning', 'spent']);
  await call('DELETE', `${COLLECTION}/${budget.id}`);
  await until('playback goes on', async () => (await statusOf(playlistOf(asset))) === 200);
});

const deliveredBytes = async ({ assetId }: PreparedAsset): Promise<number> => {
  const db = server.database.queryable;
  const rows = await db.selectFrom('delivery_usage').selectAll().where('asset_id', '=', assetId).execute();
  return rows.reduce((sum, { delivered_bytes: bytes }) => sum + bytes, 0);
};

test('a budget of seconds for the environment steps down until its day ends', async () => {
  const all = await listed(wide);
  expect(all).toContain('720p');
  const budget = await call('POST', COLLECTION, { period: 'day', seconds: 1, action: 'step_down' });
  expect(budget).not.toHaveProperty('asset_id');
  expect(budget.status).toBe('spent');
  const low = ['270p', '360p', '480p', '540p'].filter((name) => all.includes(name) && Number.parseInt(name, 10) <= 480);
  // Cached playlists as well, and whatever is requested.
  await until('the top leaves the playlist', async () => !(await listed(wide)).includes('720p'));
  expect((await listed(wide)).sort()).toEqual(low);
  expect((await listed(wide, '?min_resolution=720p')).length).toBe(1);
  expect((await listed(wide, '?max_resolution=270p')).sort()).toEqual(['270p']);
  const manifest = await (await get(`/${wide.publicId}.mpd`)).text();
  const ids = [...manifest.matchAll(/<Representation[^>]* id="(\d+p)"/g)].map(([, id]) => id!);
  expect(ids.sort()).toEqual(low);
  // Those who watch already go on.
  expect(await statusOf(segmentOf(wide, 0, '720p'))).toBe(200);
  expect(await typesOf(budget)).toEqual(['warning', 'spent']);

  server.clock.daysAhead = 1;
  expect((await listed(wide)).sort()).toEqual([...all].sort());
  expect(await budgetOf(budget)).toMatchObject({ delivered_seconds: 0, status: 'within' });
  // The next day has its own events, and its own count.
  await sizeOf(segmentOf(wide));
  await until('the new day is counted', async () => (await typesOf(budget)).length === 4);
  expect(await budgetOf(budget)).toMatchObject({ status: 'spent' });
  expect((await budgetOf(budget)).delivered_seconds).toBeLessThan(10);
  server.clock.daysAhead = 0;
  await call('DELETE', `${COLLECTION}/${budget.id}`);
});

test('a budget that only notifies changes nothing, and one of another environment neither', async () => {
  const elsewhere = await server.newEnvironment('elsewhere');
  const secret = await server.newToken({
    environmentId: elsewhere.id,
    name: 'foreign',
    permissions: ['video:read', 'video:write'],
  });
  const foreign = await server.callAs(secret, 'POST', COLLECTION, {
    ...{ period: 'month', bytes: 1, action: 'stop' },
  });
  expect(foreign.status).toBe(201);
  const budget = await call('POST', COLLECTION, { period: 'month', bytes: 1 });
  await until('the events are recorded', async () => (await typesOf(budget)).length === 2);
  expect(await statusOf(segmentOf(wide, 1))).toBe(200);
  expect(await listed(wide)).toContain('720p');
  await call('DELETE', `${COLLECTION}/${budget.id}`);
});

test('a threshold that was reached before a crash has its event from whoever reads the budgets next', async () => {
  const budget = await call('POST', COLLECTION, { asset_id: other.assetId, period: 'month', seconds: 1_000_000 });
  // As if the server had died after it stored the deliveries.
  await server.database.queryable
    .updateTable('delivery_budget')
    .set({ delivered_seconds: 1_000_000, reported: 0 })
    .where('id', '=', budget.id)
    .execute();
  const limits = ['a', 'b'].map(
    () =>
      new BudgetLimits({
        read: (now) => reportBudgets(server.context, now),
        clock: server.clock,
        logger: server.logger,
        readMs: 3_600_000,
      }),
  );
  await Promise.all(limits.map((limit) => limit.refresh()));
  await until('both are recorded', async () => (await typesOf(budget)).length === 2);
  await Promise.all(limits.map((limit) => limit.refresh()));
  expect(await typesOf(budget)).toEqual(['warning', 'spent']);
  for (const limit of limits) await limit.stop();
});
