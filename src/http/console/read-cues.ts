import { invalidParameters } from '../../lib/errors.js';
import { Problems } from '../../lib/problems.js';
import type { Cue } from '../../media/text/subtitles.js';

/**
 * The body of a request that replaces cues. @throws KinoraError `invalid_parameters` that names the
 * cue
 */
export const readCues = (body: unknown): Cue[] => {
  const cues = (body as { cues?: unknown } | null | undefined)?.cues;
  if (!Array.isArray(cues) || cues.length === 0) throw invalidParameters('cues must be a list with at least one cue.');
  const problems = new Problems();
  const read = cues.map((cue: unknown, at): Cue => {
    const {
      start_time: start,
      end_time: end,
      settings = '',
      text,
    } = (typeof cue === 'object' && cue !== null ? cue : {}) as Readonly<Record<string, unknown>>;
    const isTime = (value: unknown): value is number =>
      typeof value === 'number' && Number.isFinite(value) && value >= 0;
    if (!isTime(start)) problems.add(['cues', at, 'start_time'], 'must be a number greater than or equal to 0');
    else if (!isTime(end) || end <= start) problems.add(['cues', at, 'end_time'], 'must be after start_time');
    if (typeof settings !== 'string') problems.add(['cues', at, 'settings'], 'must be a string');
    const lines = typeof text === 'string' ? linesOf(text) : '';
    if (lines === '') problems.add(['cues', at, 'text'], 'is required');
    return {
      startSeconds: Number(start),
      endSeconds: Number(end),
      settings: String(settings).replace(/\s+/g, ' '),
      text: lines,
    };
  });
  problems.throwIfAny(body);
  return read.sort((a, b) => a.startSeconds - b.startSeconds || a.endSeconds - b.endSeconds);
};

/** Without what would end the cue in a WebVTT file: an empty line, or an arrow. */
const linesOf = (text: string): string =>
  text
    .replaceAll('-->', '--&gt;')
    .split(/\r\n?|\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n');
