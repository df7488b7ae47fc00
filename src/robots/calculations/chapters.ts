import type { Chapter } from '../../media/plan/plan-chapters.js';

/**
 * Windows of a transcript overlap, so chapters that begin this close to each other are the same.
 */
const SAME_SECONDS = 20;

/**
 * Merges the chapters of all windows into a sorted list within the asset. The first chapter begins
 * at 0.
 */
export const mergeChapters = (windows: readonly (readonly Chapter[])[], durationSeconds: number): Chapter[] => {
  const merged: Chapter[] = [];
  windows.forEach((window, number) => {
    const chapters = [...window].sort((a, b) => a.start_time - b.start_time);
    for (const chapter of chapters) {
      const last = merged.at(-1);
      const title = chapter.title.replace(/\s+/g, ' ').trim();
      const isLate = durationSeconds > 0 && chapter.start_time >= durationSeconds;
      // Within a window, close chapters are intended; only those with the same time are dropped.
      const least = number > 0 && chapter === chapters[0] ? SAME_SECONDS : 0;
      if (title === '' || isLate || (last && chapter.start_time - last.start_time <= least)) continue;
      merged.push({ start_time: Math.round(chapter.start_time * 1000) / 1000, title });
    }
  });
  return merged.map((chapter, at) => (at === 0 ? { ...chapter, start_time: 0 } : chapter));
};
