import { expect, test } from 'vitest';
import type { Plan } from './plan.js';
import { planChapters } from './plan-chapters.js';

/** Begins 2 seconds into the file. */
const plan = { durationSeconds: 10, video: { originTicks: 2_000, timescale: 1_000 } } as Plan;

test('chapters count from the start of the plan, which is within the first of them', () => {
  const chapters = [
    { startSeconds: 0, title: 'before' },
    { startSeconds: 1, title: 'across the start' },
    { startSeconds: 5.0004 },
    { startSeconds: 11.9, title: 'last' },
    { startSeconds: 12, title: 'after' },
  ];
  expect(planChapters(chapters, plan)).toEqual([
    { start_time: 0, title: 'across the start' },
    { start_time: 3, title: 'Chapter 3' },
    { start_time: 9.9, title: 'last' },
  ]);
});

test('the first chapter begins at 0, and of several at the same time the last one counts', () => {
  const chapters = [
    { startSeconds: 4, title: 'one' },
    { startSeconds: 6, title: 'two' },
    { startSeconds: 6, title: 'three' },
  ];
  expect(planChapters(chapters, plan)).toEqual([
    { start_time: 0, title: 'one' },
    { start_time: 4, title: 'three' },
  ]);
  expect(planChapters([], plan)).toEqual([]);
});
