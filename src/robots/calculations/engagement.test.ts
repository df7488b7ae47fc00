import { expect, test } from 'vitest';
import { describeDeliveries, describeViews } from './engagement.js';

const parts = (...seconds: number[]) => seconds.map((value, part) => ({ part, seconds: value }));

test('without deliveries nothing is said of moments', () => {
  const { moment_insights, overall_insight } = describeDeliveries([], 60);
  expect([moment_insights, overall_insight.trends]).toEqual([[], []]);
});

test('parts that were watched more stand out, the best with a score of 1', () => {
  const { moment_insights: moments, overall_insight } = describeDeliveries(
    parts(10, 10, 10, 90, 90, 90, 10, 10, 10, 10, 10, 5),
    115,
  );
  expect(moments).toEqual([
    {
      start_ms: 30_000,
      end_ms: 60_000,
      engagement_score: 1,
      insight: expect.stringMatching(/^Viewers were sent this part 3\.0 times/),
    },
  ]);
  expect(overall_insight.trends).toEqual([
    '1 part stands out.',
    'The last quarter was sent 100 % as often as the first.',
  ]);
});

test('even watching has no hotspot, also with a short last part', () => {
  expect(describeDeliveries(parts(10, 10, 10, 2), 32).overall_insight.trends).toEqual([
    'No part stands out.',
    'The last quarter was sent 100 % as often as the first.',
  ]);
});

test('of views it says what was played, and how much of the asset', () => {
  const value = [1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 1, 0, 0, 0, 0, 0];
  const { moment_insights, overall_insight } = describeViews({ views: 40, durationMs: 160_000, value });
  expect(moment_insights).toEqual([
    {
      start_ms: 60_000,
      end_ms: 110_000,
      engagement_score: 1,
      insight: 'Viewers played this part 2.8 times as often as the average part.',
    },
  ]);
  expect(overall_insight).toEqual({
    summary: 'In 40 views, viewers played 106 % of this asset of 2.7 minutes on average.',
    trends: ['1 part stands out.', 'The last quarter was played 0 % as often as the first.'],
  });
});
