import { describe, expect, test } from 'vitest';
import type { ViewEvent } from '../../db/schema.js';
import { type TimedView, viewTimeline } from './view-timeline.js';

const START = Date.UTC(2026, 0, 1);
const at = (seconds: number): Date => new Date(START + seconds * 1000);

/** Events of `name@seconds`. */
const view = (events: string, more: Partial<TimedView> = {}, skewMs = 0): TimedView => ({
  started_at: at(0),
  seen_at: at(60),
  ended_at: null,
  is_startup_failure: false,
  is_playback_failure: false,
  video_startup_time: null,
  events: events.split(' ').map((event): ViewEvent => {
    const [name, seconds] = event.split('@');
    return [name!, START + Number(seconds) * 1000 + skewMs, 0, null];
  }),
  ...more,
});
const spansOf = (timed: TimedView, nowSeconds = 60): string =>
  viewTimeline(timed, START + nowSeconds * 1000)
    .spans.map(({ state, fromMs, toMs }) => `${state} ${(fromMs - START) / 1000}-${(toMs - START) / 1000}`)
    .join(', ');

describe('the states of a view', () => {
  test.each([
    ['viewstart@0 play@0', 'starting 0-60'],
    ['viewstart@0 play@0 playing@2', 'starting 0-2, playing 2-60'],
    ['viewstart@0 playing@1 pause@10 play@20 playing@20', 'starting 0-1, playing 1-10, paused 10-20, playing 20-60'],
    ['viewstart@0 playing@1 rebufferstart@5 rebufferend@7', 'starting 0-1, playing 1-5, rebuffering 5-7, playing 7-60'],
    ['viewstart@0 rebufferstart@1 rebufferend@2 playing@3', 'starting 0-3, playing 3-60'],
    ['viewstart@0 playing@1 seeking@5 seeked@6 playing@6', 'starting 0-1, playing 1-60'],
    ['viewstart@0 playing@1 pause@30 ended@30', 'starting 0-1, playing 1-30, ended 30-60'],
    ['viewstart@0 playing@1 ended@30 pause@30', 'starting 0-1, playing 1-30, ended 30-60'],
    ['viewstart@0 playing@1 pause@5 rebufferend@6', 'starting 0-1, playing 1-5, paused 5-60'],
  ])('of %s', (events, spans) => {
    expect(spansOf(view(events))).toBe(spans);
  });

  test('end with the view', () => {
    expect(spansOf(view('viewstart@0 playing@1', { ended_at: at(20) }))).toBe('starting 0-1, playing 1-20');
  });

  test('of a view without events last from its start on', () => {
    expect(spansOf({ ...view('viewstart@0'), events: [] })).toBe('starting 0-60');
  });

  test.each([-86_400_000, 86_400_000])('do not depend on a clock that is wrong by %d ms', (skewMs) => {
    expect(spansOf(view('viewstart@0 playing@2', {}, skewMs))).toBe('starting 0-2, playing 2-60');
  });

  test('keep their order when a clock jumps, and end with what was reported', () => {
    const jumping = view('viewstart@0 playing@2 pause@1 playing@1000', { seen_at: at(10) });
    expect(spansOf(jumping)).toBe('starting 0-2, paused 2-10, playing 10-60');
  });
});

describe('what went wrong', () => {
  const problemOf = (timed: TimedView) => {
    const { problem } = viewTimeline(timed, START + 60_000);
    return problem && [problem.kind, (problem.atMs - START) / 1000];
  };

  test('is nothing while a view starts, and after it was watched', () => {
    expect(problemOf(view('viewstart@0'))).toBeUndefined();
    expect(problemOf(view('viewstart@0 playing@1', { ended_at: at(9) }))).toBeUndefined();
    expect(problemOf(view('viewstart@0 error@1 playing@2'))).toBeUndefined();
    expect(problemOf(view('viewstart@0', { ended_at: at(9), video_startup_time: 800 }))).toBeUndefined();
  });

  test('is an exit when the viewer left before the first frame', () => {
    expect(problemOf(view('viewstart@0', { ended_at: at(9) }))).toEqual(['exit', 9]);
  });

  test('is the first error of a startup, and the first one of playback', () => {
    const failed = { ended_at: at(30), is_playback_failure: true };
    const startup = view('viewstart@0 error@4 viewend@30', { ...failed, is_startup_failure: true });
    expect([problemOf(startup), spansOf(startup)]).toEqual([['startup failure', 4], 'starting 0-4, failed 4-30']);
    const playback = view('viewstart@0 error@1 playing@2 error@12 playing@13', failed);
    expect(problemOf(playback)).toEqual(['playback failure', 12]);
    expect(spansOf(playback)).toBe('starting 0-2, playing 2-12, failed 12-30');
    expect(problemOf(view('viewstart@0 playing@2', failed))).toEqual(['playback failure', 30]);
  });
});

test('bitrates are those of rendition changes', () => {
  const events: ViewEvent[] = [
    ['viewstart', START, 0, null],
    ['renditionchange', START, 0, { video_source_bitrate: 800_000 }],
    ['renditionchange', START + 9000, 0, { video_source_bitrate: 'high' }],
    ['renditionchange', START + 9500, 0, { video_source_bitrate: 2_000_000 }],
  ];
  expect(viewTimeline({ ...view('viewstart@0'), events }, START + 10_000).bitrates).toEqual([
    [START, 800_000],
    [START + 9500, 2_000_000],
  ]);
});
