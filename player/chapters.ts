export interface Chapter {
  readonly startSeconds: number;
  readonly title: string;
}

interface Item {
  readonly 'start-time': number;
  readonly chapter?: number;
  readonly titles: readonly { readonly title: string }[];
}

/** The chapters in order. The video plays without them, so a failure is the same as none. */
export const loadChapters = async (url: string): Promise<readonly Chapter[]> => {
  if (url === '') return [];
  try {
    const items = (await (await fetch(url)).json()) as readonly Item[];
    return items
      .filter(({ chapter }) => chapter !== undefined)
      .map((item) => ({ startSeconds: item['start-time'], title: item.titles[0]!.title }));
  } catch {
    return [];
  }
};

/**
 * CSS backgrounds that mark on a slider where the chapters start. The start of the video needs no
 * mark.
 */
export const marksOf = (chapters: readonly Chapter[], durationSeconds: number): string =>
  chapters
    .filter(({ startSeconds }) => startSeconds > 0 && startSeconds < durationSeconds)
    .map(
      ({ startSeconds }) =>
        `linear-gradient(#000, #000) ${(startSeconds / durationSeconds) * 100}% center / 3px 4px no-repeat`,
    )
    .join(', ') || 'none';

/** The chapter at a time. */
export const chapterAt = (chapters: readonly Chapter[], seconds: number): Chapter | undefined =>
  // A jump may end a little before its time.
  chapters.findLast(({ startSeconds }) => startSeconds <= seconds + 0.05);
