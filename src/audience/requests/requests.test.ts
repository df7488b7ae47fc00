import { describe, expect, it } from 'vitest';
import type { KinoraError } from '../../lib/errors.js';
import { Problems } from '../../lib/problems.js';
import { readFilters } from './filters.js';
import { readMetricFilters } from './metric-filters.js';
import { type Query, readChoice } from './query-values.js';
import { readViewTimeframe } from './timeframe.js';

const now = new Date('2026-03-04T05:06:07.890Z');
const nowSeconds = 1_772_600_767;

const complaintsOf = (read: (query: Query, problems: Problems) => unknown, query: Query): readonly string[] => {
  const problems = new Problems();
  read(query, problems);
  try {
    problems.throwIfAny(query);
    return [];
  } catch (error) {
    return (error as KinoraError).messages;
  }
};
const read = <T>(reader: (query: Query, problems: Problems) => T, query: Query): T => {
  expect(complaintsOf(reader, query)).toEqual([]);
  return reader(query, new Problems());
};

describe('the time frame', () => {
  const timeframe = (query: Query, problems: Problems) => readViewTimeframe(query, now, problems);

  it.each([
    [{}, [nowSeconds - 86_400, nowSeconds]],
    [{ 'timeframe[]': '' }, [nowSeconds - 86_400, nowSeconds]],
    [{ 'timeframe[]': ['1498867200', '1498953600'] }, [1_498_867_200, 1_498_953_600]],
    [{ timeframe: ['1498867200', '1498953600'] }, [1_498_867_200, 1_498_953_600]],
    [{ 'timeframe[]': '24:hours' }, [nowSeconds - 86_400, nowSeconds]],
    [{ 'timeframe[]': '7:days' }, [nowSeconds - 7 * 86_400, nowSeconds]],
    [{ 'timeframe[]': '2:weeks' }, [nowSeconds - 14 * 86_400, nowSeconds]],
    [{ 'timeframe[]': '90:minutes' }, [nowSeconds - 5400, nowSeconds]],
    [{ 'timeframe[]': '1:seconds' }, [nowSeconds - 1, nowSeconds]],
    [{ 'timeframe[]': '999999999:weeks' }, [0, nowSeconds]],
  ])('%j', (query, expected) => {
    expect(read(timeframe, query)).toEqual(expected);
  });

  const RANGE = 'timeframe must be in Unix seconds from 0 to 253402300799';
  const FORM = 'timeframe must be two Unix timestamps or a duration such as 24:hours or 7:days';
  it.each([
    [{ 'timeframe[]': '1498867200' }, FORM],
    [{ 'timeframe[]': ['1', '2', '3'] }, FORM],
    [{ 'timeframe[]': ['7:days', '1498953600'] }, FORM],
    [{ 'timeframe[]': '0:days' }, FORM],
    [{ 'timeframe[]': '7:fortnights' }, FORM],
    [{ 'timeframe[]': '-7:days' }, FORM],
    [{ 'timeframe[]': ['2026-01-01', '2026-01-02'] }, FORM],
    [{ 'timeframe[]': ['1498953600', '1498953600'] }, 'timeframe start must be before timeframe end'],
    [{ 'timeframe[]': ['1498867200000', '1498953600000'] }, RANGE],
    [{ 'timeframe[]': ['-1', '1498953600'] }, RANGE],
  ])('refuses %j', (query, message) => {
    expect(complaintsOf(timeframe, query)).toEqual([message]);
  });
});

describe('filters', () => {
  it.each([
    ['country:US', { kind: 'is', dimension: 'country', value: 'US' }],
    ['!country:US', { kind: 'is_not', dimension: 'country', value: 'US' }],
    ['page_url:https://a.example/?b=c', { kind: 'is', dimension: 'page_url', value: 'https://a.example/?b=c' }],
    ['country:', { kind: 'is', dimension: 'country', value: null }],
    ['custom_10:[a,b]', { kind: 'is', dimension: 'custom_10', value: '[a,b]' }],
    ['video_source_height:1080', { kind: 'is', dimension: 'video_source_height', value: '1080' }],
    ['+video_cdn_trace:fastly', { kind: 'has', dimension: 'video_cdn_trace', element: 'fastly' }],
    // As an address has it that does not encode the plus sign.
    [' video_cdn_trace:fastly', { kind: 'has', dimension: 'video_cdn_trace', element: 'fastly' }],
    ['-video_cdn_trace:fastly', { kind: 'lacks', dimension: 'video_cdn_trace', element: 'fastly' }],
    [
      'video_cdn_trace:[fastly, akamai]',
      { kind: 'trace', dimension: 'video_cdn_trace', elements: ['fastly', 'akamai'] },
    ],
    ['video_cdn_trace:[]', { kind: 'trace', dimension: 'video_cdn_trace', elements: [] }],
    ['video_cdn_trace:fastly', { kind: 'is', dimension: 'video_cdn_trace', value: 'fastly' }],
  ])('%s', (text, expected) => {
    expect(read(readFilters, { 'filters[]': text })).toEqual([expected]);
  });

  it('come from both spellings, and empty ones count as absent', () => {
    const dimensions = read(readFilters, { 'filters[]': ['country:US', ''], filters: 'browser:Safari' });
    expect(dimensions.map(({ dimension }) => dimension)).toEqual(['country', 'browser']);
  });

  it('are all read before they are refused', () => {
    expect(
      complaintsOf(readFilters, { 'filters[]': ['nonsense', 'planet:Mars', 'country:US', '+country:US'] }),
    ).toEqual([
      'filter nonsense must have the form dimension:value',
      'filter planet:Mars has the unknown dimension planet',
      'filter +country:US must not begin with + or -, because country has only one value',
    ]);
  });
});

describe('metric filters', () => {
  it.each([
    ['aggregate_startup_time>=1000', { metric: 'aggregate_startup_time', operator: '>=', value: 1000 }],
    ['rebuffer_percentage < 0.25', { metric: 'rebuffer_percentage', operator: '<', value: 0.25 }],
    ['rebuffer_count<=.5', { metric: 'rebuffer_count', operator: '<=', value: 0.5 }],
    ['playing_time>-1', { metric: 'playing_time', operator: '>', value: -1 }],
  ])('%s', (text, expected) => {
    expect(read(readMetricFilters, { 'metric_filters[]': text })).toEqual([expected]);
  });

  const FORM = 'must be a metric, one of >=, <=, > or <, and a number';
  it.each([
    ['video_startup_time=1', `metric filter video_startup_time=1 ${FORM}`],
    ['video_startup_time>fast', `metric filter video_startup_time>fast ${FORM}`],
    ['video_startup_time', `metric filter video_startup_time ${FORM}`],
    ['happiness>1', 'metric filter happiness>1 has the unknown metric happiness'],
    ['views>1', 'metric filter views>1 has the unknown metric views'],
    ['toString>1', 'metric filter toString>1 has the unknown metric toString'],
  ])('refuses %s', (text, message) => {
    expect(complaintsOf(readMetricFilters, { 'metric_filters[]': text })).toEqual([message]);
  });
});

it('reads one of several words', () => {
  const choose = (query: Query, problems: Problems) => readChoice(query, 'order_by', ['value', 'views'], problems);
  expect(read(choose, { order_by: ['value', 'views'] })).toBe('views');
  expect(read(choose, { order_by: '' })).toBeUndefined();
  expect(complaintsOf(choose, { order_by: 'size' })).toEqual(['order_by must be one of: value, views']);
});
