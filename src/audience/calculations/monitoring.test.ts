import { describe, expect, test } from 'vitest';
import type { ViewEvent } from '../../db/schema.js';
import { type MonitoredView, metricValue, negativeImpact, PointSeries, sumCounts } from './monitoring.js';

const START = Date.UTC(2026, 0, 1);
const WINDOW = { fromMs: START, toMs: START + 30_000 };
const NOW = START + 60_000;

const view = (startSeconds: number, events: string, more: Partial<MonitoredView> = {}): MonitoredView => ({
  started_at: new Date(START + startSeconds * 1000),
  seen_at: new Date(NOW),
  ended_at: null,
  is_startup_failure: false,
  is_playback_failure: false,
  is_business_exception: false,
  video_startup_time: null,
  average_bitrate: null,
  events: events.split(' ').map((event): ViewEvent => {
    const [name, seconds] = event.split('@');
    return [name!, START + Number(seconds) * 1000, 0, null];
  }),
  ...more,
});
const seriesOf = (...views: MonitoredView[]): PointSeries => {
  const series = new PointSeries(WINDOW);
  for (const one of views) series.add(one, NOW);
  return series;
};
const valuesOf = (id: Parameters<typeof metricValue>[0], ...views: MonitoredView[]) =>
  seriesOf(...views).points.map((point) => metricValue(id, point));
const ended = (seconds: number) => ({ ended_at: new Date(START + seconds * 1000) });

describe('point by point', () => {
  test('viewers are those who watch, not those who wait or pause', () => {
    const viewers = valuesOf(
      'current-concurrent-viewers',
      view(0, 'viewstart@0 playing@6 pause@21'),
      view(-3600, 'viewstart@-3600 playing@-3599 rebufferstart@10', ended(15)),
      view(29, 'viewstart@29'),
    );
    expect(viewers).toEqual([1, 2, 2, 1, 1, 0]);
    const { points } = seriesOf(view(4, 'viewstart@4 playing@6'), view(29, 'viewstart@29'));
    expect(points.map(({ starting }) => starting)).toEqual([1, 1, 0, 0, 0, 1]);
  });

  test('rebuffering is its share of the time that was watched', () => {
    const watching = view(0, 'viewstart@0 playing@0 rebufferstart@8 rebufferend@10 pause@15');
    expect(valuesOf('current-rebuffering-percentage', watching)).toEqual([0, 0.4, 0, null, null, null]);
  });

  test('failures and exits are shares of those who watched or tried', () => {
    const views = [
      view(0, 'viewstart@0', ended(4)),
      view(0, 'viewstart@0 playing@1 error@12', { ...ended(20), is_playback_failure: true }),
      view(0, 'viewstart@0 playing@1'),
      view(0, 'viewstart@0 error@3', { ...ended(4), is_startup_failure: true, is_playback_failure: true }),
    ];
    expect(valuesOf('exits-before-video-start', ...views)).toEqual([0.25, null, null, null, null, null]);
    expect(valuesOf('video-startup-failure-percentage', ...views)).toEqual([0.25, null, null, null, null, null]);
    expect(valuesOf('playback-failure-percentage', ...views)).toEqual([0, 0, 0.5, 0, 0, 0]);
    const meant = views.map((one) => ({ ...one, is_business_exception: true }));
    expect(valuesOf('video-startup-failure-percentage', ...meant)).toEqual([0, null, null, null, null, null]);
    expect(valuesOf('playback-failure-percentage', ...meant)).toEqual([0, 0, 0, 0, 0, 0]);
  });

  test('a view that fails at the start of a point was watched in it', () => {
    const failed = view(0, 'viewstart@0 playing@1 error@5', { ...ended(6), is_playback_failure: true });
    expect(valuesOf('playback-failure-percentage', failed)).toEqual([0, 1, null, null, null, null]);
  });

  test('the bitrate is that of the rendition, or else the average of the view', () => {
    const events: ViewEvent[] = [
      ['viewstart', START, 0, null],
      ['playing', START, 0, null],
      ['renditionchange', START + 8000, 0, { video_source_bitrate: 3_000_000 }],
    ];
    const changing = { ...view(0, 'viewstart@0', ended(15)), events, average_bitrate: 1_000_000 };
    const unknown = view(0, 'viewstart@0 playing@0');
    expect(valuesOf('current-average-bitrate', changing, unknown)).toEqual([
      ...[1_000_000, 1_800_000, 3_000_000],
      ...[null, null, null],
    ]);
  });

  test('startup times belong to the point of the first frame', () => {
    const { startupTimes } = seriesOf(
      view(0, 'viewstart@0 playing@6', { video_startup_time: 6000 }),
      view(5, 'viewstart@5 playing@7', { video_startup_time: 2000 }),
      view(5, 'viewstart@5 playing@7'),
    );
    expect(startupTimes).toEqual([[], [6000, 2000], [], [], [], []]);
  });

  test('nothing outside of the window counts', () => {
    const before = view(-60, 'viewstart@-60 playing@-50', ended(-1));
    expect(seriesOf(before, view(30, 'viewstart@30 playing@30'))).toEqual(seriesOf());
  });
});

describe('the negative impact of a group', () => {
  const counts = (more: object) => ({ ...seriesOf().points[0]!, ...more });

  test('is how much worse it is than all, times its views', () => {
    const [bad, good] = [counts({ viewers: 10, playbackFailures: 5 }), counts({ viewers: 90 })];
    const all = sumCounts([bad, good]);
    expect(metricValue('playback-failure-percentage', all)).toBe(0.05);
    expect(negativeImpact('playback-failure-percentage', bad, all)).toBeCloseTo(4.5);
    expect(negativeImpact('playback-failure-percentage', good, all)).toBeCloseTo(-4.5);
  });

  test('is of low bitrates, and never of many viewers', () => {
    const [low, high] = [
      counts({ viewers: 9, bitrateMs: 1, bitrateSum: 1 }),
      counts({ viewers: 1, bitrateMs: 1, bitrateSum: 3 }),
    ];
    const all = sumCounts([low, high]);
    expect(negativeImpact('current-average-bitrate', low, all)).toBe(9);
    expect(negativeImpact('current-average-bitrate', high, all)).toBe(-1);
    expect(negativeImpact('current-concurrent-viewers', low, all)).toBe(0);
    expect(negativeImpact('exits-before-video-start', low, all)).toBe(0);
  });
});
