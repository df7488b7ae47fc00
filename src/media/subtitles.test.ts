import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseSubtitles, trimCues, webvttSegment, writeWebvtt } from './subtitles.js';

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

test('a cut moves and shortens cues', () => {
  const { cues } = parseSubtitles(
    '00:01.000 --> 00:03.000\na\n\n00:04.000 --> 00:09.000\nb\n\n00:09.500 --> 00:10.000\nc\n',
  )!;
  expect(trimCues(cues, 2, 8).map(({ startSeconds, endSeconds, text }) => [startSeconds, endSeconds, text])).toEqual([
    [0, 1, 'a'],
    [2, 6, 'b'],
  ]);
});

test('a cue stands in every segment that shows it, with its whole time', () => {
  const { cues } = parseSubtitles('00:03.000 --> 00:05.000\nacross\n')!;
  const expected = 'WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:0,LOCAL:00:00:00.000\n\n00:00:03.000 --> 00:00:05.000\nacross\n';
  expect(webvttSegment(cues, 0, 4)).toBe(expected);
  expect(webvttSegment(cues, 4, 8)).toBe(expected);
  expect(webvttSegment(cues, 8, 12)).toBe('WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:0,LOCAL:00:00:00.000\n');
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

/** Whole milliseconds, in order, with words that mean nothing to either format. */
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

test('segments hold every cue that they show and no other', () => {
  const borders = fc.array(fc.integer({ min: 500, max: 8000 }), { minLength: 1, maxLength: 15 }).map((lengths) => {
    let ms = 0;
    return [0, ...lengths.map((length) => (ms += length))];
  });
  fc.assert(
    fc.property(timedWords, borders, (entries, bordersMs) => {
      const cues = entries.map(({ startMs, lengthMs }, at) => ({
        startSeconds: startMs / 1000,
        endSeconds: (startMs + lengthMs) / 1000,
        settings: '',
        text: String(at),
      }));
      bordersMs.slice(1).forEach((untilMs, at) => {
        const fromMs = bordersMs[at]!;
        const shown = parseSubtitles(webvttSegment(cues, fromMs / 1000, untilMs / 1000))?.cues ?? [];
        const expected = entries.flatMap(({ startMs, lengthMs }, index) =>
          startMs < untilMs && startMs + lengthMs > fromMs ? [String(index)] : [],
        );
        expect(shown.map(({ text }) => text)).toEqual(expected);
      });
    }),
    { numRuns: 300 },
  );
});
