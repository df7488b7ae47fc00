import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Cue, parseSubtitles } from './subtitles.js';
import { indexCues } from './text-index.js';

const writeWebvtt = (cues: readonly Cue[]): string => Buffer.from(indexCues(cues).bytes).toString();

const SRT = `1
00:00:01,500 --> 00:00:03,000
<font color="red">Hello</font> <b>you</b>
{\\an8}a < b & c > d &amp; e &lt;

2
00:00:04,000 --> 00:00:05,250
Second
3
01:00:00,000 --> 01:00:01,000
No empty line before me
`;

test('SubRip becomes clean WebVTT', () => {
  const parsed = parseSubtitles(SRT)!;
  expect(parsed.format).toBe('srt');
  expect(writeWebvtt(parsed.cues)).toBe(`WEBVTT

00:00:01.500 --> 00:00:03.000
Hello <b>you</b>
a &lt; b &amp; c &gt; d &amp; e &lt;

00:00:04.000 --> 00:00:05.250
Second

01:00:00.000 --> 01:00:01.000
No empty line before me
`);
});

test('WebVTT keeps tags and cue settings, and loses ids, notes, styles and regions', () => {
  const parsed = parseSubtitles(
    '\uFEFFWEBVTT - title\r\nX: y\r\n\r\nSTYLE\r\n::cue { color: red }\r\n\r\nREGION\r\nid:r\r\n\r\nNOTE 1\r\n\r\nid-7\r\n' +
      '00:01.000 --> 00:02.000 align:start line:0 region:r bad\r\n<v Ann>Hi &amp; <00:01.500><c.x>there</c></v>\r\n',
  )!;
  expect(parsed).toEqual({
    format: 'webvtt',
    cues: [
      {
        startSeconds: 1,
        endSeconds: 2,
        settings: 'align:start line:0',
        text: '<v Ann>Hi &amp; <00:01.500><c.x>there</c></v>',
      },
    ],
  });
});

test.each([
  '',
  'WEBVTT',
  'no cues at all\n\n1\n',
  'WEBVTT\n\n00:02.000 --> 00:01.000\nbackwards\n',
  '00:00:01,0 --> 00:00:02,0\n\n',
])('no cue: %j', (text) => expect(parseSubtitles(text)).toBeUndefined());

test('cues are sorted by time', () => {
  const { cues } = parseSubtitles('00:05.000 --> 00:06.000\nb\n\n00:01.000 --> 00:02.000\na\n')!;
  expect(cues.map(({ text }) => text)).toEqual(['a', 'b']);
});

const pieces = fc.constantFrom(
  'WEBVTT',
  '\n',
  '\n\n',
  '1',
  '00:00:01,000 --> 00:00:02,000',
  '00:01.000 --> 00:02.000 align:start',
  '<b>',
  '</b>',
  '<',
  '>',
  '&',
  '&amp;',
  '-->',
  '{\\an8}',
  'text',
  '\r',
  '\0',
  '\uFEFF',
  '<v A>',
  'é',
);

test('whatever comes in, what goes out is WebVTT that reads back as the same cues', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(pieces, fc.string()), { maxLength: 40 }), (parts) => {
      const parsed = parseSubtitles(parts.join(''));
      if (!parsed) return;
      const written = writeWebvtt(parsed.cues);
      const again = parseSubtitles(written);
      expect(again?.cues).toEqual(parsed.cues);
      expect(written).toMatch(/^WEBVTT\n\n\d\d:\d\d:\d\d\.\d\d\d --> /);
      for (const { text } of parsed.cues) expect(text).not.toContain('-->');
    }),
    { numRuns: 2000 },
  );
});

/** Whole milliseconds, in order, with words that have no special meaning in either format. */
const timedWords = fc
  .array(
    fc.record({
      startMs: fc.integer({ min: 0, max: 40_000 }),
      lengthMs: fc.integer({ min: 1, max: 20_000 }),
      lines: fc.array(fc.stringMatching(/^[a-zé][a-zé ]{0,8}[a-zé]$/), { minLength: 1, maxLength: 3 }),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((entries) => entries.sort((a, b) => a.startMs - b.startMs || a.lengthMs - b.lengthMs));

test('SubRip reads the same with any line ends, marks and gaps', () => {
  const time = (ms: number, comma: string): string =>
    `00:${String(Math.floor(ms / 60_000)).padStart(2, '0')}:${String(Math.floor(ms / 1000) % 60).padStart(2, '0')}${comma}${String(ms % 1000).padStart(3, '0')}`;
  const style = fc.record({
    end: fc.constantFrom('\n', '\r\n', '\r'),
    gap: fc.integer({ min: 0, max: 3 }),
    comma: fc.constantFrom(',', '.'),
    mark: fc.constantFrom('', '\uFEFF'),
  });
  fc.assert(
    fc.property(timedWords, style, (entries, { end, gap, comma, mark }) => {
      const blocks = entries.map(({ startMs, lengthMs, lines }, at) =>
        [String(at + 1), `${time(startMs, comma)} --> ${time(startMs + lengthMs, comma)}`, ...lines, ''].join(end),
      );
      const parsed = parseSubtitles(mark + blocks.join(end.repeat(gap)));
      expect(parsed?.format).toBe('srt');
      expect(
        parsed?.cues.map(({ startSeconds, endSeconds, text }) => [
          Math.round(startSeconds * 1000),
          Math.round(endSeconds * 1000),
          text,
        ]),
      ).toEqual(entries.map(({ startMs, lengthMs, lines }) => [startMs, startMs + lengthMs, lines.join('\n')]));
    }),
    { numRuns: 300 },
  );
});

describe('a SubRip cue ends where the next one begins', () => {
  const texts = (file: string): string[] => parseSubtitles(file)!.cues.map(({ text }) => text);
  const first = '00:00:01,000 --> 00:00:02,000';
  const second = '00:00:03,000 --> 00:00:04,000';

  test.each([
    ['an empty line inside of the text', `1\n${first}\nOne\n\nmore\n\n2\n${second}\nTwo\n`, ['One\nmore', 'Two']],
    ['an empty line before the text', `1\n${first}\n\nOne\n\n2\n${second}\n\n\nTwo`, ['One', 'Two']],
    ['an empty line after every line', `1\n\n${first}\n\nOne\n\n2\n\n${second}\n\nTwo\n\n`, ['One', 'Two']],
    [
      'line ends that were converted twice',
      `1\r\r\n${first}\r\r\nOne\r\r\nmore\r\r\n\r\r\n2\r\r\n${second}\r\r\nTwo`,
      ['One\nmore', 'Two'],
    ],
    ['a number as text', `1\n${first}\n1984\n\n2\n${second}\nTwo\n\n1985\n`, ['1984', 'Two\n1985']],
    ['no numbers', `${first}\n1984\n\n${second}\nTwo\n`, ['1984', 'Two']],
    ['no number of the first cue', `${first}\nOne\n\n2\n${second}\nTwo\n`, ['One', 'Two']],
    ['no text', `1\n${first}\n\n2\n${second}\nTwo\n`, ['Two']],
  ])('with %s', (_, file, expected) => {
    expect(texts(file)).toEqual(expected);
  });

  test('an empty line ends a cue of WebVTT', () => {
    expect(texts('WEBVTT\n\n00:01.000 --> 00:02.000\nOne\n\nmore\n\n00:03.000 --> 00:04.000\nTwo\n')).toEqual([
      'One',
      'Two',
    ]);
  });
});

test('a cue that begins below zero begins at zero', () => {
  const parsed = parseSubtitles(
    '1\n-00:00:01,500 --> 00:00:02,000\nOne\n\n2\n-00:00:01,500 --> -00:00:01,000\nbefore the start\n\n3\n00:00:03,000 --> 00:00:04,000\nTwo\n',
  )!;
  expect(parsed.cues.map(({ startSeconds, endSeconds, text }) => [startSeconds, endSeconds, text])).toEqual([
    [0, 2, 'One'],
    [3, 4, 'Two'],
  ]);
});
