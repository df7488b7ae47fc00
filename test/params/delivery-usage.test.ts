import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { addDeliveries } from '#kinora/db/tables/playback/usage.js';
import { type Api, startApi } from '../support/servers/api.js';
import { expectError } from '../support/wire/expect-error.js';

let api: Api;
let environmentId: string;
beforeAll(async () => {
  api = await startApi();
  const environment = await api.database.queryable.selectFrom('environment').select('id').executeTakeFirstOrThrow();
  environmentId = environment.id;
});
afterAll(() => api?.stop());

const PATH = '/video/v1/delivery-usage';
const HOUR = 3600;
const DAY = 24 * HOUR;
const get = (query: string) => api.call('GET', `${PATH}?${query}`);
const nowSeconds = () => Math.floor(Date.now() / 1000);
const timeframe = (start: number, end: number) => `timeframe[]=${start}&timeframe[]=${end}`;
const create = async (fields: object = {}): Promise<string> => {
  const body = { inputs: 'https://media.example.org/walk.mp4', ...fields };
  const { id } = (await (await api.call('POST', '/video/v1/assets', body)).json()).data;
  await api.makeReady(id, 42.375);
  return id;
};
const deliver = (assetId: string, atSeconds: number, tier: string, seconds: number) =>
  addDeliveries(
    api.database.queryable,
    [
      {
        environment_id: environmentId,
        asset_id: assetId,
        minute: new Date((atSeconds - (atSeconds % 60)) * 1000),
        tier,
        delivered_seconds: seconds,
        delivered_bytes: 1000,
        av1_seconds: 0,
        av1_bytes: 0,
      },
    ],
    [],
  );

describe('GET /video/v1/delivery-usage refuses', () => {
  const NOT_TWO = 'timeframe must be an array of two Unix timestamps';
  const ORDER = 'timeframe start must be before timeframe end';
  const TOO_OLD = 'timeframe cannot start more than 90 days ago';
  it.each<[string, string[]]>([
    ['limit=0', ['limit must be a positive integer']],
    ['page=x', ['page must be a positive integer']],
    ['asset_id=a&live_stream_id=b', ['asset_id and live_stream_id cannot be used together']],
    ['timeframe[]=1767225600', [NOT_TWO]],
    ['timeframe=1767225600', [NOT_TWO]],
    ['timeframe[]=', [NOT_TWO]],
    ['timeframe[]=1&timeframe[]=2&timeframe[]=3', [NOT_TWO]],
    ['timeframe[]=a&timeframe[]=b', [NOT_TWO]],
    ['timeframe[]=1.5&timeframe[]=2', [NOT_TWO]],
    ['timeframe[]=7:days', [NOT_TWO]],
    [timeframe(0, 1), [TOO_OLD]],
    [timeframe(-5, 1), [TOO_OLD]],
    [timeframe(2, 1), [ORDER, TOO_OLD]],
    ['page=0&timeframe[]=1&limit=x', ['page must be a positive integer', NOT_TWO, 'limit must be a positive integer']],
  ])('%s', async (query, messages) => {
    await expectError(await get(query), 400, 'invalid_parameters', messages);
  });

  it('a window without length, one that runs backwards and one that is too old', async () => {
    const now = nowSeconds();
    await expectError(await get(timeframe(now, now)), 400, 'invalid_parameters', [ORDER]);
    await expectError(await get(timeframe(now, now - HOUR)), 400, 'invalid_parameters', [ORDER]);
    const old = timeframe(now - 90 * DAY - 60, now);
    await expectError(await get(old), 400, 'invalid_parameters', [TOO_OLD]);
    expect((await get(timeframe(now - 90 * DAY, now))).status).toBe(200);
  });

  it('who may not read videos', async () => {
    const token = await api.newToken({ name: 'other', permissions: ['video:write', 'system:read', 'data:read'] });
    expect((await api.callAs(token, 'GET', PATH)).status).toBe(403);
  });
});

describe('GET /video/v1/delivery-usage', () => {
  beforeEach(async () => {
    await api.database.queryable.deleteFrom('delivery_usage').execute();
  });

  it('without a timeframe reports the hour from 13 to 12 hours ago', async () => {
    const before = nowSeconds();
    const { timeframe: window, ...rest } = await (await get('')).json();
    expect(rest).toEqual({ data: [], total_row_count: 0, page: 1, limit: 100 });
    expect(window[1] - window[0]).toBe(HOUR);
    expect(window[0]).toBeGreaterThanOrEqual(before - 13 * HOUR);
    expect(window[0]).toBeLessThanOrEqual(nowSeconds() - 13 * HOUR);

    const id = await create();
    await deliver(id, window[0] + 120, '720p', 1);
    await deliver(id, window[0] - 120, '720p', 2);
    await deliver(id, window[1] + 120, '720p', 4);
    const { data } = await (await get('')).json();
    expect(data.map(({ delivered_seconds: seconds }: { delivered_seconds: number }) => seconds)).toEqual([1]);
  });

  it('tells everything of an asset that is ready, and what is left of it once it is deleted', async () => {
    const mux = api.sdk();
    const id = await create({ passthrough: 'order-81', video_quality: 'plus' });
    await api.database.queryable.updateTable('asset').set({ resolution_tier: '1080p' }).where('id', '=', id).execute();
    const { created_at: createdAt } = await mux.video.assets.retrieve(id);
    const now = nowSeconds();
    await deliver(id, now, '1080p', 600);
    await deliver(id, now - 60, '720p', 0.1);
    await deliver(id, now - 120, '720p', 0.2);
    await deliver(id, now - 120, '720p', 310.2);
    const report = {
      asset_id: id,
      asset_state: 'ready',
      asset_duration: 42.375,
      asset_resolution_tier: '1080p',
      asset_encoding_tier: 'smart',
      asset_video_quality: 'plus',
      created_at: createdAt,
      passthrough: 'order-81',
      delivered_seconds: 910.5,
      delivered_seconds_by_resolution: { tier_1080p: 600, tier_720p: 310.5 },
    };
    const window = [String(now - HOUR), String(now + 60)];
    const page = await mux.video.deliveryUsage.list({ timeframe: window });
    expect(page.data).toEqual([report]);
    expect(page).toMatchObject({ timeframe: window.map(Number), page: 1, limit: 100 });

    await mux.video.assets.delete(id);
    const [gone] = (await mux.video.deliveryUsage.list({ timeframe: window, asset_id: id })).data;
    expect(gone).toEqual({ ...report, asset_state: 'deleted', deleted_at: expect.stringMatching(/^\d{10}$/) });
    expect(Number(gone!.deleted_at)).toBeGreaterThanOrEqual(now - 5);
  });

  it('leaves out what is not known of an asset', async () => {
    const id = await create();
    await api.database.queryable.updateTable('asset').set({ duration_seconds: null }).where('id', '=', id).execute();
    await deliver(id, nowSeconds(), 'audio-only', 5);
    await api.sdk().video.assets.delete(id);
    const { data } = await (await get(timeframe(nowSeconds() - 60, nowSeconds() + 60))).json();
    expect(data).toEqual([
      {
        asset_id: id,
        asset_state: 'deleted',
        asset_encoding_tier: 'baseline',
        asset_video_quality: 'basic',
        created_at: expect.any(String),
        deleted_at: expect.any(String),
        delivered_seconds: 5,
        delivered_seconds_by_resolution: { tier_audio_only: 5 },
      },
    ]);
  });

  it('counts every minute that the window touches', async () => {
    const id = await create();
    const minute = nowSeconds() - (nowSeconds() % 60) - HOUR;
    await deliver(id, minute, '720p', 1);
    await deliver(id, minute + 60, '720p', 10);
    await deliver(id, minute + 120, '720p', 100);
    const seconds = async (start: number, end: number) =>
      (await (await get(timeframe(start, end))).json()).data[0]?.delivered_seconds;
    expect(await seconds(minute, minute + 60)).toBe(1);
    expect(await seconds(minute + 59, minute + 61)).toBe(11);
    expect(await seconds(minute + 60, minute + 120)).toBe(10);
    expect(await seconds(minute - 60, minute)).toBeUndefined();
    expect(await seconds(minute + 119, 999_999_999_999_999)).toBe(110);
    expect(await seconds(999_999_999_999_998, 999_999_999_999_999)).toBeUndefined();
  });

  it('lists the most delivered first, page by page to the end, of its own environment only', async () => {
    const ids = await Promise.all([create(), create(), create(), create(), create()]);
    const seconds = [10, 50, 30, 20, 30];
    const now = nowSeconds();
    for (const [at, id] of ids.entries()) await deliver(id, now - at * 60, at % 2 ? '720p' : '1080p', seconds[at]!);
    const tied = [ids[2]!, ids[4]!].sort();
    const expected = [ids[1], ...tied, ids[3], ids[0]];
    const window = timeframe(now - HOUR, now + 60);
    const idsOf = async (query: string) => {
      const { data, ...rest } = await (await get(`${window}&${query}`)).json();
      return [data.map(({ asset_id: id }: { asset_id: string }) => id), rest.total_row_count, rest.page, rest.limit];
    };
    expect(await idsOf('')).toEqual([expected, 5, 1, 100]);
    expect(await idsOf('limit=2')).toEqual([expected.slice(0, 2), 5, 1, 2]);
    expect(await idsOf('limit=2&page=3')).toEqual([expected.slice(4), 5, 3, 2]);
    expect(await idsOf('limit=2&page=4')).toEqual([[], 5, 4, 2]);
    expect(await idsOf('limit=1000')).toEqual([expected, 5, 1, 100]);
    expect(await idsOf(`asset_id=${ids[3]}`)).toEqual([[ids[3]], 1, 1, 100]);
    for (const none of [`asset_id=${'A'.repeat(40)}`, 'asset_id=x', 'asset_id=%00', 'live_stream_id=x'])
      expect(await idsOf(none)).toEqual([[], 0, 1, 100]);

    const all: string[] = [];
    const query = { limit: 2, timeframe: [String(now - HOUR), String(now + 60)] };
    for await (const report of api.sdk().video.deliveryUsage.list(query)) all.push(report.asset_id);
    expect(all).toEqual(expected);

    const other = await api.newEnvironment('Other');
    const foreign = api.sdk(await api.newToken({ name: 'foreign', environmentId: other.id }));
    expect((await foreign.video.deliveryUsage.list(query)).data).toEqual([]);
  });
});
