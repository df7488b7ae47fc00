import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseSubtitles } from './subtitles.js';
import { clipText, findCues, indexCues, readTextIndex, textSegment, writeTextIndex } from './text-index.js';

const textOf = (source: string) => indexCues(parseSubtitles(source)!.cues);
const cuesOf = (bytes: Uint8Array) =>
  parseSubtitles(Buffer.from(bytes).toString())?.cues.map(({ startSeconds, endSeconds, settings, text }) => [
    startSeconds,
    endSeconds,
    settings,
    text,
  ]);

test('a clip moves and shortens cues', () => {
  const text = textOf(
    'WEBVTT\n\n00:01.000 --> 00:03.000\na\n\n00:04.000 --> 00:09.000 line:0\nb\nß\n\n00:09.500 --> 00:10.000\nc\n',
  );
  const clip = clipText(text, 2, 8);
  expect(cuesOf(clip.bytes)).toEqual([
    [0, 1, '', 'a'],
    [2, 6, 'line:0', 'b\nß'],
  ]);
  expect(clip).toEqual(textOf(Buffer.from(clip.bytes).toString()));
  expect(clipText(text, 0, 2000).bytes).toEqual(text.bytes);
  // Less than a millisecond of the cue is left.
  expect(Buffer.from(clipText(text, 2.9996, 4).bytes).toString()).toBe('WEBVTT\n');
});

test('a cue stands in every segment that shows it, with its whole time', () => {
  const text = textOf('00:03.000 --> 00:05.000\nacross\n');
  const expected = 'WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:0,LOCAL:00:00:00.000\n\n00:00:03.000 --> 00:00:05.000\nacross\n';
  expect(textSegment(text, 0, 4).toString()).toBe(expected);
  expect(textSegment(text, 4, 8).toString()).toBe(expected);
  expect(textSegment(text, 8, 12).toString()).toBe('WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:0,LOCAL:00:00:00.000\n');
});

/** Whole milliseconds, in order. */
const timedWords = fc
  .array(
    fc.record({
      startMs: fc.integer({ min: 0, max: 40_000 }),
      lengthMs: fc.integer({ min: 1, max: 20_000 }),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((entries) => entries.sort((a, b) => a.startMs - b.startMs || a.lengthMs - b.lengthMs));

test('segments hold every cue that they show and no other', () => {
  const borders = fc.array(fc.integer({ min: 500, max: 8000 }), { minLength: 1, maxLength: 15 }).map((lengths) => {
    let ms = 0;
    return [0, ...lengths.map((length) => (ms += length))];
  });
  fc.assert(
    fc.property(timedWords, borders, (entries, bordersMs) => {
      const text = indexCues(
        entries.map(({ startMs, lengthMs }, at) => ({
          startSeconds: startMs / 1000,
          endSeconds: (startMs + lengthMs) / 1000,
          settings: '',
          text: String(at),
        })),
      );
      bordersMs.slice(1).forEach((untilMs, at) => {
        const fromMs = bordersMs[at]!;
        const shown = parseSubtitles(textSegment(text, fromMs / 1000, untilMs / 1000).toString())?.cues ?? [];
        const expected = entries.flatMap(({ startMs, lengthMs }, index) =>
          startMs < untilMs && startMs + lengthMs > fromMs ? [String(index)] : [],
        );
        expect(shown.map(({ text }) => text)).toEqual(expected);
      });
    }),
    { numRuns: 300 },
  );
});

test('an index is read back with its text, and refused beside another', () => {
  fc.assert(
    fc.property(timedWords, (entries) => {
      const text = indexCues(
        entries.map(({ startMs, lengthMs }) => ({
          startSeconds: startMs / 1000,
          endSeconds: (startMs + lengthMs) / 1000,
          settings: '',
          text: 'é',
        })),
      );
      const index = writeTextIndex(text);
      expect(readTextIndex(text.bytes, index)).toEqual(text);
      expect(readTextIndex(text.bytes.subarray(1), index)).toBeUndefined();
      expect(readTextIndex(text.bytes, index.subarray(8))).toBeUndefined();
      expect(readTextIndex(text.bytes, new Uint8Array())).toBeUndefined();
      const clip = clipText(text, 1, 20);
      expect(readTextIndex(clip.bytes, writeTextIndex(clip))).toEqual(clip);
    }),
    { numRuns: 100 },
  );
});

test('a segment of a track with 50,000 cues looks at few of them', () => {
  const text = indexCues(
    Array.from({ length: 50_000 }, (_, at) => ({
      startSeconds: at,
      // One of them is displayed all the time.
      endSeconds: at === 0 ? 50_000 : at + 1,
      settings: '',
      text: String(at),
    })),
  );
  findCues(text, 0, 1);
  let reads = 0;
  const counted = (array: Float64Array): Float64Array =>
    new Proxy(array, {
      get: (target, name) => {
        reads++;
        const value = Reflect.get(target, name) as unknown;
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  const watched = { ...text, startSeconds: counted(text.startSeconds), endSeconds: counted(text.endSeconds) };
  findCues(text, 49_000, 49_004);
  for (const from of [0, 25_000, 49_990]) {
    reads = 0;
    const found = findCues(watched, from, from + 4);
    expect(found).toEqual(from === 0 ? [0, 1, 2, 3] : [0, from, from + 1, from + 2, from + 3]);
    expect(reads).toBeLessThan(2000);
  }
});
