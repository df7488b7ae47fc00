import { sql } from 'kysely';
import { beforeAll, expect, it } from 'vitest';
import { compareMetrics } from '#kinora/audience/compare-metrics.js';
import { type Measurement, type MetricId, measurementsOf, metricIds, metrics } from '#kinora/audience/metrics.js';
import { intervalStarts, stepOf } from '#kinora/audience/requests/granularity.js';
import type { ViewSelection } from '#kinora/audience/requests/view-selection.js';
import { listDimensionValues, listErrors, listTraceElements } from '#kinora/audience/tables/dimension-values.js';
import { endedViewsOf } from '#kinora/audience/tables/filter-views.js';
import {
  type BreakdownValue,
  readBreakdown,
  readInsights,
  readIntervals,
  readOverallValue,
} from '#kinora/audience/tables/metric-values.js';
import type { Queryable } from '#kinora/db/database.js';
import { bootstrap } from '#kinora/domain/access/bootstrap.js';
import { createEnvironment } from '#kinora/domain/access/environments.js';
import { systemClock } from '#kinora/lib/clock.js';
import { describeOnBothEngines } from '../../contract/engines.js';
import { insertViews, randomViews, type View } from '../../support/random-views.js';

const UNTIL = new Date('2026-03-04T12:00:00Z');
const untilSeconds = UNTIL.getTime() / 1000;
const HOUR = 3600;

const isFailure = (view: View) => view.is_playback_failure || view.is_startup_failure;
const booleans: Record<string, (view: View) => boolean> = {
  playback_failure: (view) => isFailure(view) && !view.is_business_exception,
  playback_business_exception: (view) => isFailure(view) && view.is_business_exception,
  video_startup_failure: (view) => view.is_startup_failure && !view.is_business_exception,
  video_startup_business_exception: (view) => view.is_startup_failure && view.is_business_exception,
  exit_before_video_start: (view) => view.video_startup_time === null && !isFailure(view),
  view_dropped: (view) => view.is_dropped,
};
const flag = (name: string) => (view: View) => Number(booleans[name]!(view));
const field = (name: string) => (view: View) => {
  const value = view.details[name];
  return typeof value === 'number' ? value : null;
};
const column = (name: keyof View) => (view: View) => view[name] as number | null;
const clamp = (value: number) => Math.min(100, Math.max(0, value));

type OfView = (view: View) => number | null;
/** Numerator, denominator and factor. */
type Quotient = readonly [OfView, OfView, number];

const quotients: Partial<Record<MetricId, Quotient>> = {
  rebuffer_percentage: [column('rebuffer_duration'), column('watch_time'), 1],
  rebuffer_frequency: [column('rebuffer_count'), column('watch_time'), 60_000],
  seek_latency: [column('seek_duration'), column('seek_count'), 1],
  upscale_percentage: [column('total_upscale'), column('content_playback_time'), 1],
  downscale_percentage: [column('total_downscale'), column('content_playback_time'), 1],
  ad_error_percentage: [field('ad_error_count'), field('ad_attempt_count'), 1],
  ad_break_error_percentage: [field('ad_break_error_count'), field('ad_break_count'), 1],
  ad_exit_before_start_percentage: [field('ad_exit_before_start_count'), field('ad_attempt_count'), 1],
  ad_startup_error_percentage: [field('ad_startup_error_count'), field('ad_attempt_count'), 1],
};
const partsOf = ([part, whole, factor]: Quotient, view: View) => {
  const [above, below] = [part(view), whole(view)];
  return above === null || below === null || below <= 0 ? undefined : ([above * factor, below] as const);
};

const startupScore: OfView = (view) =>
  view.video_startup_time === null ? null : clamp(((8000 - view.video_startup_time) / 7500) * 100);
const rebufferScore: OfView = (view) =>
  view.watch_time && view.rebuffer_duration !== null
    ? clamp(100 - (1000 * view.rebuffer_duration) / view.watch_time)
    : null;
const qualityScore: OfView = (view) =>
  view.content_playback_time && view.total_upscale !== null
    ? clamp(100 - (100 * view.total_upscale) / view.content_playback_time)
    : null;
const successScore = (view: View) =>
  booleans.playback_failure!(view) ? 0 : booleans.exit_before_video_start!(view) ? 50 : 100;
const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
const experienceScore = (view: View) => {
  const parts = [startupScore, rebufferScore, qualityScore]
    .map((score) => score(view))
    .filter((value) => value !== null);
  return (successScore(view) * (parts.length === 0 ? 100 : mean(parts))) / 100;
};

const values: Record<MetricId, OfView> = {
  ...(Object.fromEntries(
    Object.entries(quotients).map(([id, quotient]) => [
      id,
      (view: View) => {
        const parts = partsOf(quotient, view);
        return parts ? parts[0] / parts[1] : null;
      },
    ]),
  ) as Record<MetricId, OfView>),
  viewer_experience_score: experienceScore,
  playback_success_score: successScore,
  startup_time_score: startupScore,
  rebuffer_score: rebufferScore,
  video_quality_score: qualityScore,
  playback_failure_percentage: flag('playback_failure'),
  video_startup_failure_percentage: flag('video_startup_failure'),
  exits_before_video_start: flag('exit_before_video_start'),
  playback_business_exception_percentage: flag('playback_business_exception'),
  video_startup_business_exception_percentage: flag('video_startup_business_exception'),
  view_dropped_percentage: flag('view_dropped'),
  video_startup_time: column('video_startup_time'),
  player_startup_time: column('player_startup_time'),
  page_load_time: column('page_load_time'),
  aggregate_startup_time: column('aggregate_startup_time'),
  view_content_startup_time: field('view_content_startup_time'),
  rebuffer_duration: column('rebuffer_duration'),
  rebuffer_count: column('rebuffer_count'),
  max_upscale_percentage: column('max_upscale'),
  max_downscale_percentage: column('max_downscale'),
  weighted_average_bitrate: column('average_bitrate'),
  rendition_change_count: column('rendition_changes'),
  rendition_upshift_count: column('rendition_upshifts'),
  rendition_downshift_count: column('rendition_downshifts'),
  live_stream_latency: column('live_latency'),
  request_latency: column('request_latency'),
  max_request_latency: column('max_request_latency'),
  request_throughput: column('request_throughput'),
  views: () => 1,
  unique_viewers: (view) => (view.viewer_id === null ? null : 1),
  playing_time: column('playing_time'),
  ad_attempt_count: field('ad_attempt_count'),
  ad_break_count: field('ad_break_count'),
  ad_break_error_count: field('ad_break_error_count'),
  ad_error_count: field('ad_error_count'),
  ad_exit_before_start_count: field('ad_exit_before_start_count'),
  ad_impression_count: field('ad_impression_count'),
  ad_startup_error_count: field('ad_startup_error_count'),
  ad_preroll_startup_time: field('ad_preroll_startup_time'),
  requests_for_first_preroll: field('requests_for_first_preroll'),
  video_startup_preroll_load_time: field('video_startup_preroll_load_time'),
  video_startup_preroll_request_time: field('video_startup_preroll_request_time'),
};

const percentile = (sorted: readonly number[], share: number): number | null => {
  if (sorted.length === 0) return null;
  const position = share * (sorted.length - 1);
  const below = sorted[Math.floor(position)]!;
  return below + (sorted[Math.ceil(position)]! - below) * (position - Math.floor(position));
};

const knownOf = (id: MetricId, views: readonly View[]) =>
  views
    .map(values[id])
    .filter((value) => value !== null)
    .sort((a, b) => a - b);

const measure = (id: MetricId, measurement: Measurement, views: readonly View[]): number | null => {
  if (id === 'unique_viewers') return new Set(views.flatMap((view) => view.viewer_id ?? [])).size;
  const known = knownOf(id, views);
  const quotient = quotients[id];
  switch (measurement) {
    case 'count':
      return known.length;
    case 'sum':
      return known.reduce((sum, value) => sum + value, 0);
    case 'median':
      return percentile(known, 0.5);
    case '95th':
      return percentile(known, 0.95);
    case 'avg': {
      if (!quotient) return known.length === 0 ? null : mean(known);
      const parts = views.flatMap((view) => {
        const both = partsOf(quotient, view);
        return both ? [both] : [];
      });
      const whole = parts.reduce((sum, [, below]) => sum + below, 0);
      return whole === 0 ? null : parts.reduce((sum, [above]) => sum + above, 0) / whole;
    }
  }
};
const sum = (views: readonly View[], name: 'watch_time' | 'playing_time') =>
  views.every((view) => view[name] === null) ? null : views.reduce((total, view) => total + (view[name] ?? 0), 0);

/** Equal but for the rounding of sums in another order. */
const near = (value: number | null) =>
  value === null ? null : expect.closeTo(value, Math.min(9, 9 - Math.ceil(Math.log10(Math.abs(value) + 1))));

describeOnBothEngines('metrics of views', (database) => {
  const selection: ViewSelection = {
    timeframe: [untilSeconds - 48 * HOUR, untilSeconds - 5 * HOUR],
    filters: [],
    metricFilters: [],
  };
  let db: Queryable;
  let environmentId: string;
  let views: View[];
  /** Of the selection, by the time that decides. */
  const selected = { started_at: [] as View[], ended_at: [] as View[] };

  beforeAll(async () => {
    db = database().queryable;
    await bootstrap(database(), { dataDir: '/nowhere', token: 'first:secret' }, systemClock);
    environmentId = (await db.selectFrom('environment').select('id').executeTakeFirstOrThrow()).id;
    const other = await createEnvironment(
      database(),
      { name: 'Other', type: 'development', videoQuality: 'basic' },
      systemClock,
    );
    views = randomViews({ environmentId, count: 700, until: UNTIL, days: 3, seed: 33 });
    const foreign = randomViews({ environmentId: other.id, count: 100, until: UNTIL, days: 3, seed: 7 });
    await insertViews(db, [...views, ...foreign]);
    for (const time of ['started_at', 'ended_at'] as const) {
      const [from, to] = selection.timeframe;
      selected[time] = views.filter((view) => {
        const seconds = view[time] && view[time].getTime() / 1000;
        return view.ended_at !== null && seconds !== null && seconds >= from && seconds < to;
      });
    }
  });

  it.each(metricIds)('%s is what plain arithmetic says, in each measurement', async (id) => {
    const metric = metrics[id];
    const own = selected[metric.time];
    for (const measurement of measurementsOf(metric)) {
      const overall = await readOverallValue(db, environmentId, { metric, measurement, selection });
      expect({ measurement, ...overall }).toEqual({
        measurement,
        value: near(measure(id, measurement, own)),
        views: own.length,
        watchTime: sum(own, 'watch_time'),
        playingTime: sum(own, 'playing_time'),
      });
    }
  });

  it('has values of views for all metrics but those of ads that nobody shows', () => {
    const silent = metricIds.filter((id) => knownOf(id, selected.ended_at).length === 0);
    expect(
      silent.every((id) => id.includes('ad_') || id.includes('preroll') || id === 'view_content_startup_time'),
    ).toBe(true);
  });

  it.each([
    ['video_startup_time', 'median', 'country', (view: View) => view.dimensions.country ?? null],
    ['rebuffer_percentage', 'avg', 'asset_id', (view: View) => view.asset_id],
    [
      'playback_failure_percentage',
      'avg',
      'exit_before_video_start',
      (view: View) => String(booleans.exit_before_video_start!(view)),
    ],
    ['playing_time', 'sum', 'browser', (view: View) => view.dimensions.browser ?? null],
    ['views', 'count', 'video_source_height', (view: View) => String(view.details.video_source_height)],
    ['viewer_experience_score', '95th', 'video_title', (view: View) => view.dimensions.video_title ?? null],
    ['ad_error_percentage', 'avg', 'view_session_id', (view: View) => view.session_id],
    ['ad_break_count', 'median', 'country', (view: View) => view.dimensions.country ?? null],
  ] as const)('breaks %s (%s) down by %s', async (id, measurement, dimension, fieldOf) => {
    const metric = metrics[id];
    const own = selected[metric.time];
    const overall = measure(id, measurement, own)!;
    const expected = [...new Set(own.map(fieldOf))].flatMap((name) => {
      const group = own.filter((view) => fieldOf(view) === name);
      const value = measure(id, measurement, group);
      if (value === null) return [];
      const difference = metric.better === 'lower' ? value - overall : overall - value;
      const impact = measurement === 'count' || measurement === 'sum' ? 0 : difference * group.length;
      return [
        {
          field: name,
          value,
          views: group.length,
          watchTime: sum(group, 'watch_time'),
          playingTime: sum(group, 'playing_time'),
          impact,
        },
      ];
    });
    for (const orderBy of ['negative_impact', 'value', 'views', 'field'] as const) {
      for (const direction of ['asc', 'desc'] as const) {
        const found: BreakdownValue[] = [];
        for (let page = 1; ; page++) {
          const request = { metric, measurement, selection, dimension, orderBy, direction };
          const answer = await readBreakdown(db, environmentId, {
            ...request,
            page: { page, limit: 200, offset: (page - 1) * 200 },
          });
          expect(answer.total).toBe(expected.length);
          if (answer.values.length === 0) break;
          found.push(...answer.values);
        }
        const keyOf = (row: BreakdownValue) =>
          ({ negative_impact: row.negativeImpact, value: row.value, views: row.views, field: 0 })[orderBy];
        const keys = found.map(keyOf);
        expect(keys).toEqual([...keys].sort((a, b) => (direction === 'asc' ? a - b : b - a)));
        const byField = new Map(found.map((row) => [row.field, row]));
        expect(byField.size).toBe(expected.length);
        for (const { field: name, impact, value, ...rest } of expected) {
          expect(byField.get(name)).toEqual({
            field: name,
            ...rest,
            value: near(value),
            negativeImpact: expect.closeTo(impact, 3),
          });
        }
        if (orderBy === 'field') {
          const names = found.flatMap(({ field: name }) => name ?? []);
          const sorted = [...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
          expect(names).toEqual(direction === 'asc' ? sorted : sorted.reverse());
          if (found.some(({ field: name }) => name === null)) expect(found.at(-1)!.field).toBeNull();
        }
      }
    }
  });

  it.each([
    ['minute', 'views', 'count'],
    ['ten_minutes', 'rebuffer_percentage', 'avg'],
    ['hour', 'video_startup_time', '95th'],
    ['day', 'playing_time', 'sum'],
  ] as const)('has a value for each %s with views', async (granularity, id, measurement) => {
    const metric = metrics[id];
    const step = stepOf(granularity);
    const intervals = await readIntervals(db, environmentId, { metric, measurement, selection }, step);
    const startOf = (view: View) => Math.floor(view[metric.time]!.getTime() / 1000 / step) * step;
    const own = selected[metric.time];
    const expected = [...new Set(own.map(startOf))]
      .sort((a, b) => a - b)
      .map((start) => {
        const group = own.filter((view) => startOf(view) === start);
        return { start, value: near(measure(id, measurement, group)), views: knownOf(id, group).length };
      });
    expect([...intervals].sort((a, b) => a.start - b.start)).toEqual(expected);
    const starts = new Set(intervalStarts(selection.timeframe, granularity));
    expect(intervals.every(({ start }) => starts.has(start))).toBe(true);
  });

  it.each<[string, Partial<ViewSelection>, (view: View) => boolean]>([
    [
      'a value',
      { filters: [{ kind: 'is', dimension: 'country', value: 'DE' }] },
      (view) => view.dimensions.country === 'DE',
    ],
    ['no value', { filters: [{ kind: 'is', dimension: 'country', value: null }] }, (view) => !view.dimensions.country],
    [
      'another value',
      { filters: [{ kind: 'is_not', dimension: 'country', value: 'DE' }] },
      (view) => view.dimensions.country !== 'DE',
    ],
    [
      'a value with quotes',
      { filters: [{ kind: 'is', dimension: 'video_title', value: "O'Hara" }] },
      (view) => view.dimensions.video_title === "O'Hara",
    ],
    [
      'a column',
      { filters: [{ kind: 'is', dimension: 'playback_id', value: 'play-b' }] },
      (view) => view.playback_id === 'play-b',
    ],
    ['a boolean', { filters: [{ kind: 'is', dimension: 'view_dropped', value: 'true' }] }, (view) => view.is_dropped],
    [
      'a number of the details',
      { filters: [{ kind: 'is', dimension: 'video_source_height', value: '720' }] },
      (view) => view.details.video_source_height === 720,
    ],
    [
      'one of two values, and a third condition',
      {
        filters: [
          { kind: 'is', dimension: 'country', value: 'DE' },
          { kind: 'is', dimension: 'country', value: 'US' },
          { kind: 'is_not', dimension: 'browser', value: 'Safari' },
        ],
      },
      ({ dimensions: { country, browser } }) => (country === 'DE' || country === 'US') && browser !== 'Safari',
    ],
    [
      'neither of two values',
      {
        filters: [
          { kind: 'is_not', dimension: 'country', value: 'DE' },
          { kind: 'is_not', dimension: 'country', value: 'US' },
        ],
      },
      ({ dimensions: { country } }) => country !== 'DE' && country !== 'US',
    ],
    [
      'an element of a trace',
      { filters: [{ kind: 'has', dimension: 'video_cdn_trace', element: 'fastly' }] },
      (view) => /fastly/.test(view.dimensions.video_cdn_trace ?? ''),
    ],
    ['no part of a word', { filters: [{ kind: 'has', dimension: 'video_cdn_trace', element: 'fast' }] }, () => false],
    [
      'a trace without an element',
      { filters: [{ kind: 'lacks', dimension: 'video_cdn_trace', element: 'fastly' }] },
      (view) => !/fastly/.test(view.dimensions.video_cdn_trace ?? ''),
    ],
    [
      'a whole trace',
      { filters: [{ kind: 'trace', dimension: 'video_cdn_trace', elements: ['fastly', 'akamai'] }] },
      (view) => view.dimensions.video_cdn_trace === 'fastly,akamai',
    ],
    [
      'no trace',
      { filters: [{ kind: 'trace', dimension: 'video_cdn_trace', elements: [] }] },
      (view) => !view.dimensions.video_cdn_trace,
    ],
    [
      'a metric',
      { metricFilters: [{ metric: 'video_startup_time', operator: '>=', value: 6000 }] },
      (view) => (view.video_startup_time ?? 0) >= 6000,
    ],
    [
      'two metrics',
      {
        metricFilters: [
          { metric: 'rebuffer_percentage', operator: '<', value: 0.05 },
          { metric: 'viewer_experience_score', operator: '>', value: 70.5 },
        ],
      },
      (view) => (values.rebuffer_percentage(view) ?? 1) < 0.05 && experienceScore(view) > 70.5,
    ],
  ])('selects views with %s', async (_, conditions, isMeant) => {
    const request = {
      metric: metrics.rebuffer_count,
      measurement: 'sum',
      selection: { ...selection, ...conditions },
    } as const;
    const own = selected.ended_at.filter(isMeant);
    const overall = await readOverallValue(db, environmentId, request);
    expect(overall).toMatchObject({ value: measure('rebuffer_count', 'sum', own), views: own.length });
  });

  it('compares all metrics at once', async () => {
    const compared = await compareMetrics(db, environmentId, selection);
    expect(compared.ended).toMatchObject({
      views: selected.ended_at.length,
      watchTime: sum(selected.ended_at, 'watch_time'),
    });
    expect(compared.started).toMatchObject({
      views: selected.started_at.length,
      viewers: measure('unique_viewers', 'count', selected.started_at),
    });
    for (const id of metricIds.filter((name) => metrics[name].time === 'ended_at')) {
      expect([id, compared.values.get(id)]).toEqual([
        id,
        near(measure(id, metrics[id].measurement, selected.ended_at)),
      ]);
    }
  });

  it('finds what worsens a metric most', async () => {
    const metric = metrics.rebuffer_percentage;
    const request = { metric, measurement: 'avg', selection, direction: 'desc' } as const;
    const own = selected.ended_at;
    const overall = measure('rebuffer_percentage', 'avg', own)!;
    const dimensionsOf = (view: View) =>
      Object.entries({
        ...view.dimensions,
        asset_id: view.asset_id,
        live_stream_id: view.live_stream_id,
        playback_id: view.playback_id,
      });
    const groups = new Map<string, View[]>();
    for (const view of own) {
      for (const [name, value] of dimensionsOf(view)) {
        if (value !== null) groups.set(`${name}=${value}`, [...(groups.get(`${name}=${value}`) ?? []), view]);
      }
    }
    const expected = [...groups]
      .map(([name, group]) => ({
        name,
        impact: (measure('rebuffer_percentage', 'avg', group)! - overall) * group.length,
        views: group.length,
      }))
      .filter(({ impact }) => impact > 0)
      .sort((a, b) => b.impact - a.impact)
      .slice(0, 25);
    const insights = await readInsights(db, environmentId, request);
    expect(insights.map(({ dimension, field: name, views: count }) => [`${dimension}=${name}`, count])).toEqual(
      expected.map(({ name, views: count }) => [name, count]),
    );
    for (const [at, { negativeImpact }] of insights.entries())
      expect(negativeImpact).toBeCloseTo(expected[at]!.impact, 6);
    expect(await readInsights(db, environmentId, { ...request, direction: 'asc' })).toEqual([...insights].reverse());
    expect(await readInsights(db, environmentId, { ...request, measurement: 'sum' })).toEqual([]);
    for (const id of metricIds) await readInsights(db, environmentId, { ...request, metric: metrics[id] });
  });

  it('lists values of dimensions and elements of traces', async () => {
    const page = { page: 1, limit: 100, offset: 0 };
    const order = { orderBy: 'views', direction: 'desc', page } as const;
    const countOf = (names: readonly (string | null)[]) => {
      const counts = new Map<string | null, number>();
      for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
      return [...counts].map(([value, count]) => ({ value, count })).sort((a, b) => b.count - a.count);
    };
    const countries = await listDimensionValues(db, environmentId, { dimension: 'country', selection, ...order });
    const expected = countOf(selected.ended_at.map((view) => view.dimensions.country ?? null));
    expect(countries.values.map(({ count }) => count)).toEqual(expected.map(({ count }) => count));
    expect(new Set(countries.values.map((value) => JSON.stringify(value)))).toEqual(
      new Set(expected.map((value) => JSON.stringify(value))),
    );
    expect(countries.total).toBe(5);

    const elements = await listTraceElements(db, environmentId, { dimension: 'video_cdn_trace', selection, ...order });
    const traces = selected.ended_at.map((view) => [
      ...new Set((view.dimensions.video_cdn_trace ?? '').split(',').filter(Boolean)),
    ]);
    expect(elements).toEqual({ values: countOf(traces.flat()), total: 2 });
    const second = { ...page, page: 2, limit: 1, offset: 1 };
    const byName = {
      dimension: 'video_cdn_trace',
      selection,
      orderBy: 'field',
      direction: 'asc',
      page: second,
    } as const;
    const { values: named, total } = await listTraceElements(db, environmentId, byName);
    expect([named.map(({ value }) => value), total]).toEqual([['fastly'], 2]);
    expect(await listTraceElements(db, environmentId, { ...byName, page: { ...second, page: 3, offset: 2 } })).toEqual({
      values: [],
      total: 2,
    });
  });

  it.each([
    ['ended_at', 'video_view_ended'],
    ['started_at', 'video_view_started'],
  ] as const)('finds a day by %s in the index', async (time, index) => {
    const plan = await database().transaction(async (tx) => {
      await sql`set local enable_seqscan = off`.execute(tx);
      return endedViewsOf(tx, environmentId, selection, time).select('watch_time').explain();
    });
    const lines = plan.map((row) => row['QUERY PLAN']).join('\n');
    expect(lines).toContain(index);
    expect(lines).toMatch(new RegExp(`Index Cond: .*environment_id = .*${time} >= .*${time} < `));
  });

  it('counts the errors that views ended with', async () => {
    const now = new Date('2026-03-04T11:00:00Z');
    const add = async (code: string, message: string, count: number) => {
      const { id } = await db
        .insertInto('view_error')
        .values({ environment_id: environmentId, code, message, created_at: now, last_seen_at: now })
        .returning('id')
        .executeTakeFirstOrThrow();
      const ids = unmarked.splice(0, count).map((view) => view.id);
      await db
        .updateTable('video_view')
        .set({ error_id: id })
        .where('environment_id', '=', environmentId)
        .where('id', 'in', ids)
        .execute();
      return id;
    };
    const unmarked = [...selected.ended_at];
    const rare = await add('3', 'decode', 2);
    const common = await add('E_NET', '', 5);
    const page = { page: 1, limit: 100, offset: 0 };
    const list = await listErrors(db, environmentId, { selection, page });
    expect(list).toEqual({
      errors: [
        { id: common, code: 'E_NET', message: '', lastSeenAt: now, count: 5 },
        { id: rare, code: '3', message: 'decode', lastSeenAt: now, count: 2 },
      ],
      total: 2,
      views: selected.ended_at.length,
    });
    const last = await listErrors(db, environmentId, { selection, page: { page: 2, limit: 1, offset: 1 } });
    expect(last).toMatchObject({ errors: [{ id: rare }], total: 2 });
  });
});
