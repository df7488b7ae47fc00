import type { Chapter } from '../plan/plan-chapters.js';

/** One element of `metadata.json`: the whole asset or a chapter. */
export interface MetadataElement {
  readonly metadata?: readonly { readonly key: string; readonly value: string }[];
  readonly titles: readonly { readonly language: string; readonly title: string }[];
  readonly chapter?: number;
  readonly 'start-time'?: number;
  readonly duration?: number;
}

const titled = (title: string) => [{ language: 'und', title }];

/**
 * The title and the chapters of the asset, which players read in addition to the playlist. The
 * title is in the metadata of the first element, which always exists.
 */
export const metadataJson = (
  title: string | undefined,
  durationSeconds: number,
  chapters: readonly Chapter[] = [],
): MetadataElement[] => {
  const metadata = title === undefined ? [] : [{ key: 'title', value: title }];
  if (chapters.length > 0)
    return chapters.map((chapter, at) => ({
      ...(at === 0 && { metadata }),
      titles: titled(chapter.title),
      chapter: at + 1,
      'start-time': chapter.start_time,
      duration: milliseconds((chapters[at + 1]?.start_time ?? durationSeconds) - chapter.start_time),
    }));
  if (title === undefined) return [{ metadata, titles: [] }];
  return [{ metadata, titles: titled(title), 'start-time': 0, duration: durationSeconds }];
};

const milliseconds = (seconds: number): number => Math.round(seconds * 1000) / 1000;
