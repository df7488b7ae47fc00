import { AV_LOG_INFO, AV_LOG_QUIET } from 'node-av/constants';
import { type FormatContext, Log } from 'node-av/lib';
import type { ChapterFacts } from '../../media/source/source-facts.js';
import { cleanTitle } from './text-streams.js';

/** Far more than films and audiobooks have. */
const MAX_CHAPTERS = 1_000;
const END = 'end of the description';
/** The binding delivers lines of the log between turns of the event loop. */
const LIMIT_MS = 2_000;

/**
 * The chapters of a file, as FFmpeg reads them. The binding has no access to them, but FFmpeg's
 * description of a file lists them.
 */
export const readChapters = async (format: FormatContext): Promise<ChapterFacts[]> => parse(await describe(format));

const describe = async (format: FormatContext): Promise<readonly string[]> => {
  const lines: string[] = [];
  try {
    await new Promise<void>((resolve) => {
      const limit = setTimeout(resolve, LIMIT_MS);
      Log.setLevel(AV_LOG_INFO);
      Log.setCallback(
        (_level, message) => {
          if (!message.includes(END)) {
            lines.push(message);
            return;
          }
          clearTimeout(limit);
          resolve();
        },
        { maxLevel: AV_LOG_INFO },
      );
      format.dumpFormat(0, '', false);
      Log.log(AV_LOG_INFO, END);
    });
  } finally {
    Log.resetCallback();
    Log.setLevel(AV_LOG_QUIET);
  }
  return lines;
};

/**
 * The description is written in pieces: the number of a chapter, its times, the names of its tags
 * and their values. After a value, the end of the line is a piece of its own.
 */
const parse = (lines: readonly string[]): ChapterFacts[] => {
  // Streams follow the chapters, and have titles too. A title that begins alike has no indentation.
  const streams = lines.findIndex((line) => /^ {2,}Stream #\d+$/.test(line));
  const text = lines
    .slice(0, streams < 0 ? undefined : streams)
    .map((line) => line || '\n')
    .join('');
  const chapters = text.split(/ {4}Chapter #\d+:\d+: /).slice(1, MAX_CHAPTERS + 1);
  return chapters
    .flatMap((chapter) => {
      const start = /^start (-?[\d.]+),/.exec(chapter)?.[1];
      if (start === undefined) return [];
      const title = cleanTitle(/ title +: (.*)/i.exec(chapter)?.[1] ?? '');
      return [{ startSeconds: Number(start), ...(title !== '' && { title }) }];
    })
    .sort((a, b) => a.startSeconds - b.startSeconds);
};
