import type { ChapterFacts } from '../source/source-facts.js';
import { originOf } from './clip.js';
import type { Plan } from './plan.js';

export interface Chapter {
  readonly start_time: number;
  readonly title: string;
}

/**
 * The chapters of a file on the timeline of a plan, which may be a clip: those that are displayed
 * at some time, in order, numbered if they have no title. The first one begins at 0.
 */
export const planChapters = (chapters: readonly ChapterFacts[], plan: Plan): Chapter[] => {
  const { num, den } = originOf(plan);
  const displayed = chapters.flatMap(({ startSeconds, title }, at) => {
    const start = startSeconds - num / den;
    const next = (chapters[at + 1]?.startSeconds ?? Number.POSITIVE_INFINITY) - num / den;
    if (start >= plan.durationSeconds || next <= Math.max(start, 0)) return [];
    return [{ start_time: Math.max(0, Math.round(start * 1000) / 1000), title: title ?? `Chapter ${at + 1}` }];
  });
  return displayed.map((chapter, at) => (at === 0 ? { ...chapter, start_time: 0 } : chapter));
};
