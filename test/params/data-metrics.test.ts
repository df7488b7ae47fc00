import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allDimensions } from '#kinora/audience/dimensions.js';
import { metricIds } from '#kinora/audience/metrics.js';
import { type Api, startApi } from '../support/servers/api.js';
import { expectError } from '../support/wire/expect-error.js';

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api?.stop());

const get = (path: string) => api.call('GET', `/data/v1/${path}`);
const paths = [
  'metrics/comparison',
  'metrics/video_startup_time/breakdown',
  'metrics/video_startup_time/overall',
  'metrics/video_startup_time/insights',
  'metrics/video_startup_time/timeseries',
  'dimensions/country',
  'dimensions/video_cdn_trace/elements',
  'errors',
];
const FORM = 'timeframe must be two Unix timestamps or a duration such as 24:hours or 7:days';
const RANGE = 'timeframe must be in Unix seconds from 0 to 253402300799';

describe.each(paths)('GET /data/v1/%s', (path) => {
  it.each([
    ['timeframe[]=yesterday', FORM],
    ['timeframe[]=1772582400', FORM],
    ['timeframe[]=0:days', FORM],
    ['timeframe[]=1&timeframe[]=2&timeframe[]=3', FORM],
    ['timeframe=2026-03-04&timeframe=2026-03-05', FORM],
    ['timeframe[]=1772582400000&timeframe[]=1772668800000', RANGE],
    ['timeframe[]=-1&timeframe[]=1772668800', RANGE],
    ['timeframe[]=1772582400&timeframe[]=1772582400', 'timeframe start must be before timeframe end'],
    ['filters[]=US', 'filter US must have the form dimension:value'],
    ['filters[]=planet:Mars', 'filter planet:Mars has the unknown dimension planet'],
    ['filters[]=!planet:Mars', 'filter !planet:Mars has the unknown dimension planet'],
    ['filters[]=toString:1', 'filter toString:1 has the unknown dimension toString'],
    ['filters[]=%2Bcountry:US', 'filter +country:US must not begin with + or -, because country has only one value'],
    ['filters=-country:US', 'filter -country:US must not begin with + or -, because country has only one value'],
    [
      'metric_filters[]=video_startup_time',
      'metric filter video_startup_time must be a metric, one of >=, <=, > or <, and a number',
    ],
    [
      'metric_filters[]=video_startup_time>=1e9',
      'metric filter video_startup_time>=1e9 must be a metric, one of >=, <=, > or <, and a number',
    ],
    ['metric_filters[]=happiness>1', 'metric filter happiness>1 has the unknown metric happiness'],
    ['metric_filters[]=unique_viewers>1', 'metric filter unique_viewers>1 has the unknown metric unique_viewers'],
  ])('refuses %s', async (query, message) => {
    await expectError(await get(`${path}?${query}`), 400, 'invalid_parameters', [message]);
  });

  it('names every problem, in the order of the query', async () => {
    const query = 'metric_filters[]=happiness>1&timeframe[]=now&filters[]=a&filters[]=b:c';
    await expectError(await get(`${path}?${query}`), 400, 'invalid_parameters', [
      'metric filter happiness>1 has the unknown metric happiness',
      FORM,
      'filter a must have the form dimension:value',
      'filter b:c has the unknown dimension b',
    ]);
  });

  it.each([
    '',
    'timeframe[]=&filters[]=&metric_filters[]=&limit=&page=&measurement=&order_direction=',
    'timeframe[]=7:days&filters[]=country:US&filters[]=!country:DE&metric_filters[]=video_startup_time>=1.5',
    'filters[]=+video_cdn_trace:a&filters[]=-video_cdn_trace:b&filters[]=video_cdn_trace:[a,b]',
    'filters[]=country:%00&filters[]=country:%F0%9F%8E%AC&filters[]=country:%27%22%5C',
    'filters[]=country:%ED%A0%80',
    'timeframe[]=253402300798&timeframe[]=253402300799',
    'timeframe[]=0&timeframe[]=1',
    `metric_filters[]=rebuffer_percentage>${'9'.repeat(400)}`,
  ])('accepts %s', async (query) => {
    const response = await get(`${path}?${query}`);
    expect([response.status, await response.json()]).toMatchObject([200, { timeframe: expect.any(Array) }]);
  });

  it('needs data:read, and no other permission', async () => {
    const other = await api.newToken({ name: 'other', permissions: ['video:read', 'system:read', 'robots:read'] });
    const message = 'The access token does not have permission for this operation';
    await expectError(await api.callAs(other, 'GET', `/data/v1/${path}`), 403, 'forbidden', [message]);
    const own = await api.newToken({ name: 'own', permissions: ['data:read'] });
    expect((await api.callAs(own, 'GET', `/data/v1/${path}`)).status).toBe(200);
  });

  it('answers 405 to other methods', async () => {
    await expectError(await api.call('POST', `/data/v1/${path}`), 405, 'method_not_allowed', ['Method not allowed']);
  });
});

const MEASUREMENTS = 'measurement must be one of: 95th, median, avg, count, sum';
const ORDERS = 'order_by must be one of: negative_impact, value, views, field';
const DIRECTIONS = 'order_direction must be one of: asc, desc';
const LIMIT = 'limit must be a positive integer';
const PAGE = 'page must be a positive integer';

it.each([
  ['metrics/views/overall?measurement=mean', 'measurement must be one of: count'],
  ['metrics/playing_time/overall?measurement=mean', MEASUREMENTS],
  ['metrics/playing_time/breakdown?measurement=p95', MEASUREMENTS],
  ['metrics/playing_time/insights?measurement=min', MEASUREMENTS],
  ['metrics/playing_time/timeseries?measurement=max', MEASUREMENTS],
  ['metrics/playing_time/breakdown?group_by=planet', 'group_by is the unknown dimension planet'],
  ['metrics/playing_time/breakdown?order_by=size', ORDERS],
  ['metrics/playing_time/breakdown?order_direction=up', DIRECTIONS],
  ['metrics/playing_time/breakdown?limit=0', LIMIT],
  ['metrics/playing_time/breakdown?page=-1', PAGE],
  ['metrics/playing_time/insights?order_direction=up', DIRECTIONS],
  ['metrics/playing_time/timeseries?order_direction=up', DIRECTIONS],
  ['metrics/playing_time/timeseries?group_by=week', 'group_by must be one of: minute, ten_minutes, hour, day'],
  [
    'metrics/playing_time/timeseries?group_by=minute&timeframe[]=32:days',
    'timeframe has more than 45000 intervals of group_by minute',
  ],
  [
    'metrics/playing_time/timeseries?timeframe[]=0&timeframe[]=253402300799',
    'timeframe has more than 45000 intervals of group_by day',
  ],
  ['metrics/comparison?dimension=country', 'value is required with dimension'],
  ['metrics/comparison?value=US', 'dimension is required with value'],
  ['metrics/comparison?dimension=planet&value=Mars', 'dimension is the unknown dimension planet'],
  ['dimensions/country?limit=x', LIMIT],
  ['dimensions/country?page=0', PAGE],
  ['dimensions/video_cdn_trace/elements?order_by=size', ORDERS],
  ['dimensions/video_cdn_trace/elements?order_direction=up', DIRECTIONS],
  ['errors?limit=0', LIMIT],
  ['errors?page=1.5', PAGE],
])('refuses %s', async (path, message) => {
  await expectError(await get(path), 400, 'invalid_parameters', [message]);
});

it.each([
  'metrics/happiness/overall',
  'metrics/happiness/breakdown',
  'metrics/happiness/insights',
  'metrics/constructor/timeseries',
  'metrics/Views/overall',
  'dimensions/planet',
  'dimensions/planet/elements',
  'dimensions/country/elements',
])('has no operation at %s', async (path) => {
  await expectError(await get(path), 404, 'not_found', [
    `There is no operation GET /data/v1/${path}. See /docs for all operations.`,
  ]);
});

it('accepts every metric in every operation', async () => {
  for (const id of metricIds) {
    for (const operation of ['overall', 'breakdown', 'insights', 'timeseries']) {
      const { status } = await get(`metrics/${id}/${operation}`);
      expect([id, operation, status]).toEqual([id, operation, 200]);
    }
  }
});

it('accepts every dimension for groups, filters and values', async () => {
  for (const dimension of allDimensions) {
    for (const path of [
      `metrics/views/breakdown?group_by=${dimension}&filters[]=${dimension}:a&filters[]=!${dimension}:b`,
      `metrics/comparison?dimension=${dimension}&value=a`,
      `dimensions/${dimension}`,
    ]) {
      expect([path, (await get(path)).status]).toEqual([path, 200]);
    }
  }
});

it('has no values without views: 0 for counts and sums, null for the others', async () => {
  const overallOf = async (path: string) => (await (await get(path)).json()).data.value;
  expect(await overallOf('metrics/views/overall')).toBe(0);
  expect(await overallOf('metrics/playing_time/overall')).toBe(0);
  expect(await overallOf('metrics/video_startup_time/overall')).toBeNull();
  expect(await overallOf('metrics/video_startup_time/overall?measurement=count')).toBe(0);
  expect(await overallOf('metrics/viewer_experience_score/overall')).toBeNull();
  const { data } = await (await get('metrics/video_startup_time/timeseries?timeframe[]=0&timeframe[]=120')).json();
  expect(data).toEqual([
    ['1970-01-01T00:00:00Z', null, 0],
    ['1970-01-01T00:01:00Z', null, 0],
  ]);
  for (const path of ['metrics/views/breakdown', 'metrics/rebuffer_count/insights', 'errors', 'dimensions/country'])
    expect(await (await get(path)).json()).toMatchObject({ data: [], total_row_count: 0 });
});
