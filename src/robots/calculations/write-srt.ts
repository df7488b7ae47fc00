import { type Cue, timestamp } from '../../media/text/subtitles.js';
import { plainText } from './edit-cues.js';

/** SubRip numbers its cues, uses commas in times and has no tags. */
export const writeSrt = (cues: readonly Cue[]): Buffer =>
  Buffer.from(
    cues
      .map(({ startSeconds, endSeconds, text }, at) => {
        const times = [startSeconds, endSeconds].map((seconds) => timestamp(seconds).replace('.', ','));
        const lines = text.split('\n').map((line) => plainText({ text: line }));
        return `${at + 1}\n${times.join(' --> ')}\n${lines.join('\n')}\n`;
      })
      .join('\n'),
  );
