import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newUuid } from '#kinora/lib/ids.js';
import { type Api, startApi } from '../support/servers/api.js';
import { expectError, NOT_FOUND } from '../support/wire/expect-error.js';

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api?.stop());

const refused = async (path: string, messages: string[]): Promise<void> => {
  await expectError(await api.call('GET', path), 400, 'invalid_parameters', messages);
};
const TIMEFRAME = 'timeframe must be two Unix timestamps or a duration such as 24:hours or 7:days';
const DIRECTION = 'order_direction must be one of: asc, desc';

describe('annotations', () => {
  const COLLECTION = '/data/v1/annotations';
  const VALID = { date: 1_767_225_600, note: 'New player' };
  const create = async (body: object = VALID) => (await (await api.call('POST', COLLECTION, body)).json()).data;

  it.each<[string, unknown, string[]]>([
    ['no body', undefined, ['date is required', 'note is required']],
    ['a list', [], ['Request body must be a JSON object']],
    ['no date', { note: 'x' }, ['date is required']],
    ['a date as text', { ...VALID, date: '1767225600' }, ['date must be an integer']],
    ['a fraction of a second', { ...VALID, date: 1.5 }, ['date must be an integer']],
    ['a date before 1970', { ...VALID, date: -1 }, ['date must be between 0 and 253402300799']],
    ['milliseconds', { ...VALID, date: 1_767_225_600_000 }, ['date must be between 0 and 253402300799']],
    ['an empty note', { ...VALID, note: '' }, ['note must not be empty']],
    ['a long note', { ...VALID, note: 'x'.repeat(5001) }, ['note must be at most 5000 characters']],
    ['a note with NUL', { ...VALID, note: 'a\0' }, ['note must be valid Unicode text without NUL']],
    ['a sub-property that is none', { ...VALID, sub_property_id: 7 }, ['sub_property_id must be a string']],
  ])('are refused: %s', async (_, body, messages) => {
    await expectError(await api.call('POST', COLLECTION, body), 400, 'invalid_parameters', messages);
    const { id } = await create();
    const changed = await api.call('PATCH', `${COLLECTION}/${id}`, body);
    await expectError(changed, 400, 'invalid_parameters', messages);
  });

  it('are created, changed and deleted', async () => {
    const annotation = await create({ ...VALID, note: 'é'.repeat(5000), sub_property_id: 'app' });
    const path = `${COLLECTION}/${annotation.id}`;
    expect(annotation).toMatchObject({ date: '2026-01-01T00:00:00Z', sub_property_id: 'app' });
    expect((await (await api.call('GET', path)).json()).data).toEqual(annotation);
    const changed = await api.call('PATCH', path, { date: 0, note: 'Old player' });
    expect([changed.status, (await changed.json()).data]).toEqual([
      200,
      { ...annotation, date: '1970-01-01T00:00:00Z', note: 'Old player' },
    ]);
    expect((await api.call('DELETE', path)).status).toBe(204);
    await expectError(await api.call('DELETE', path), 404, 'not_found', [NOT_FOUND]);
  });

  it.each(['GET', 'PATCH', 'DELETE'])('that do not exist are not found: %s', async (method) => {
    const foreign = await api.newEnvironment(method.toLowerCase());
    const token = await api.newToken({ name: method, environmentId: foreign.id });
    for (const id of [newUuid(), 'nothing', (await create()).id]) {
      const body = method === 'PATCH' ? VALID : undefined;
      const response = await api.callAs(token, method, `${COLLECTION}/${id}`, body);
      await expectError(response, 404, 'not_found', [NOT_FOUND]);
    }
  });

  it('are listed by date within the time frame, page by page', async () => {
    const start = 1_500_000_000;
    for (const at of [2, 0, 1, 3]) await create({ date: start + at, note: `note ${at}` });
    const list = async (query: string) => (await api.call('GET', `${COLLECTION}?${query}`)).json();
    const timeframe = `timeframe[]=${start}&timeframe[]=${start + 3}`;
    const notesOf = ({ data }: { data: { note: string }[] }) => data.map(({ note }) => note);
    const all = await list(timeframe);
    expect(notesOf(all)).toEqual(['note 2', 'note 1', 'note 0']);
    expect(all).toMatchObject({ total_row_count: 3, page: 1, limit: 25, timeframe: [start, start + 3] });
    expect(notesOf(await list(`${timeframe}&order_direction=asc&limit=2`))).toEqual(['note 0', 'note 1']);
    expect(notesOf(await list(`${timeframe}&order_direction=asc&limit=2&page=2`))).toEqual(['note 2']);
    expect(notesOf(await list(`${timeframe}&page=3`))).toEqual([]);
    const [from, to] = (await list('')).timeframe;
    expect(to - from).toBe(24 * 3600);
  });

  it.each<[string, string[]]>([
    ['limit=0', ['limit must be a positive integer']],
    ['order_direction=up', [DIRECTION]],
    ['timeframe[]=yesterday', [TIMEFRAME]],
    ['timeframe[]=2&timeframe[]=1', ['timeframe start must be before timeframe end']],
    ['page=x&timeframe[]=1:year&order_direction=', ['page must be a positive integer', TIMEFRAME]],
  ])('are not listed with %s', async (query, messages) => {
    await refused(`${COLLECTION}?${query}`, messages);
  });

  it('need the permission to read or to write', async () => {
    const { id } = await create();
    const statuses = async (permission: string) => {
      const token = await api.newToken({ name: permission, permissions: [permission] });
      const call = async (method: string, path: string, body?: object) =>
        (await api.callAs(token, method, path, body)).status;
      return [
        await call('GET', COLLECTION),
        await call('GET', `${COLLECTION}/${id}`),
        await call('POST', COLLECTION, VALID),
        await call('PATCH', `${COLLECTION}/${id}`, VALID),
      ];
    };
    expect(await statuses('data:read')).toEqual([200, 200, 403, 403]);
    expect(await statuses('video:write')).toEqual([403, 403, 201, 200]);
    expect(await statuses('robots:write')).toEqual([403, 403, 403, 403]);
  });
});

describe('video views', () => {
  const ERROR_ID = 'error_id must be the ID of an error or any';
  const FILTER = 'must have the form dimension:value';

  it.each<[string, string[]]>([
    ['limit=-1', ['limit must be a positive integer']],
    ['page=0', ['page must be a positive integer']],
    ['error_id=none', [ERROR_ID]],
    ['error_id=-1', [ERROR_ID]],
    ['error_id=2147483648', [ERROR_ID]],
    ['order_direction=down', [DIRECTION]],
    ['timeframe[]=24', [TIMEFRAME]],
    ['timeframe[]=0:hours', [TIMEFRAME]],
    ['timeframe[]=1&timeframe[]=2&timeframe[]=3', [TIMEFRAME]],
    ['timeframe[]=2&timeframe[]=2', ['timeframe start must be before timeframe end']],
    ['filters[]=US', [`filter US ${FILTER}`]],
    ['filters[]=planet:Mars', ['filter planet:Mars has the unknown dimension planet']],
    ['metric_filters[]=views>1', ['metric filter views>1 has the unknown metric views']],
    [
      'error_id=x&filters[]=US&timeframe[]=now&order_direction=up',
      [ERROR_ID, `filter US ${FILTER}`, TIMEFRAME, DIRECTION],
    ],
  ])('are not listed with %s', async (query, messages) => {
    await refused(`/data/v1/video-views?${query}`, messages);
  });

  it.each([
    'limit=',
    'page=',
    'error_id=',
    'viewer_id=',
    'order_direction=',
    'timeframe[]=',
    'filters[]=',
    'limit=999',
  ])('are listed with %s', async (query) => {
    const response = await api.call('GET', `/data/v1/video-views?${query}`);
    expect(await response.json()).toMatchObject({ data: [], total_row_count: 0, page: 1 });
  });

  it.each(['error_id=2147483647', 'viewer_id=%00', 'viewer_id=%F0%9F%98%80', 'filters[]=country:%F0%9F%98%80'])(
    'are searched in vain with %s',
    async (query) => {
      expect((await api.call('GET', `/data/v1/video-views?${query}`)).status).toBe(200);
    },
  );
});

describe('monitoring', () => {
  const METRIC = '/data/v1/monitoring/metrics/current-concurrent-viewers';
  const TIMESTAMP = 'timestamp must be a Unix timestamp';
  const RECENT = 'timestamp must be within the last 24 hours';
  const DIMENSIONS =
    'dimension must be one of: asn, cdn, country, operating_system, player_name, region, stream_type, sub_property_id, video_series, video_title, view_has_ad';
  const ORDER = 'order_by must be one of: negative_impact, value, views, field';
  const secondsAgo = (seconds: number): number => Math.floor(Date.now() / 1000) - seconds;

  it.each<[string, string, string[]]>([
    ['breakdown', 'dimension=browser', [DIMENSIONS]],
    ['breakdown', 'order_by=size', [ORDER]],
    ['breakdown', 'order_direction=down', [DIRECTION]],
    ['breakdown', 'timestamp=now', [TIMESTAMP]],
    ['breakdown', 'timestamp=1.5', [TIMESTAMP]],
    ['breakdown', 'timestamp=1', [RECENT]],
    ['breakdown', 'filters[]=x', ['filter x must have the form dimension:value']],
    ['timeseries', 'timestamp=-1', [TIMESTAMP]],
    ['timeseries', `timestamp=${secondsAgo(24 * 3600 + 60)}`, [RECENT]],
    ['timeseries', `timestamp=${secondsAgo(-3600)}`, [RECENT]],
    ['timeseries', 'filters[]=planet:Mars', ['filter planet:Mars has the unknown dimension planet']],
    ['breakdown-timeseries', 'limit=0', ['limit must be a positive integer']],
    ['breakdown-timeseries', 'timeframe[]=11:minutes', ['timeframe must not exceed 10 minutes']],
    [
      'breakdown-timeseries',
      `timeframe[]=${secondsAgo(25 * 3600)}&timeframe[]=${secondsAgo(25 * 3600 - 60)}`,
      ['timeframe must be within the last 24 hours'],
    ],
    ['breakdown-timeseries', 'timeframe[]=soon', [TIMEFRAME]],
    ['breakdown-timeseries', 'order_by=size&limit=x', [ORDER, 'limit must be a positive integer']],
  ])('%s is refused with %s', async (path, query, messages) => {
    await refused(`${METRIC}/${path}?${query}`, messages);
    if (path === 'breakdown-timeseries') return;
    await refused(`${METRIC.replace('monitoring', 'realtime')}/${path}?${query}`, messages);
  });

  it('takes what is empty as absent, and a limit that is too large as the largest', async () => {
    for (const path of ['breakdown', 'timeseries', 'breakdown-timeseries']) {
      const query = 'dimension=&order_by=&order_direction=&timestamp=&timeframe[]=&filters[]=&limit=1000';
      expect((await api.call('GET', `${METRIC}/${path}?${query}`)).status).toBe(200);
    }
  });

  it.each([
    'monitoring/metrics/happiness/timeseries',
    'monitoring/metrics/video-startup-time/timeseries',
    'monitoring/metrics/current-concurrent-viewers/histogram-timeseries',
    'realtime/metrics/happiness/breakdown',
    'realtime/metrics/current-concurrent-viewers/breakdown-timeseries',
  ])('has no %s', async (path) => {
    await expectError(await api.call('GET', `/data/v1/${path}`), 404, 'not_found', [
      `There is no operation GET /data/v1/${path}. See /docs for all operations.`,
    ]);
  });
});

describe('engagement', () => {
  it.each<[string, string[]]>([
    ['assets/a/heatmap?timeframe[]=x', [TIMEFRAME]],
    ['videos/a/heatmap?timeframe[]=5&timeframe[]=4', ['timeframe start must be before timeframe end']],
    ['playback-ids/a/hotspots?limit=0', ['limit must be a positive integer']],
    ['assets/a/hotspots?order_direction=hot&limit=1.5', [DIRECTION, 'limit must be a positive integer']],
  ])('is refused: %s', async (path, messages) => {
    await refused(`/data/v1/engagement/${path}`, messages);
  });
});

it('needs the permission to read data', async () => {
  const writer = await api.newToken({ name: 'writer', permissions: ['video:write', 'video:read'] });
  for (const path of [
    ...['video-views', 'video-views/a', 'exports/views', 'engagement/assets/a/heatmap'],
    ...['monitoring/metrics', 'realtime/dimensions', 'monitoring/metrics/current-average-bitrate/breakdown'],
  ]) {
    expect((await api.callAs(writer, 'GET', `/data/v1/${path}`)).status).toBe(403);
    expect((await api.callAs(undefined, 'GET', `/data/v1/${path}`)).status).toBe(401);
  }
});
