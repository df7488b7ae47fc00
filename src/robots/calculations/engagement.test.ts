import { expect, test } from 'vitest';
import { describeEngagement } from './engagement.js';

const parts = (...seconds: number[]) => seconds.map((value, part) => ({ part, seconds: value }));

test('without deliveries nothing is said of moments', () => {
  const { moment_insights, overall_insight } = describeEngagement([], 60);
  expect([moment_insights, overall_insight.trends]).toEqual([[], []]);
});

test('parts that were watched more stand out, the best with a score of 1', () => {
  const { moment_insights: moments, overall_insight } = describeEngagement(
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
  expect(describeEngagement(parts(10, 10, 10, 2), 32).overall_insight.trends).toEqual([
    'No part stands out.',
    'The last quarter was sent 100 % as often as the first.',
  ]);
});
