import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { plainText } from '../text/plain-text.js';
import { makeCues } from './make-cues.js';
import type { Word } from './word.js';

const letters = fc.string({ minLength: 1, maxLength: 14, unit: fc.constantFrom(...'abcdefghij&<.,') });

/** Natural speech: words of plausible length with occasional pauses. */
const speech = fc
  .array(fc.tuple(letters, fc.integer({ min: 60, max: 900 }), fc.constantFrom(0, 20, 80, 400, 1500, 9000)), {
    minLength: 1,
    maxLength: 300,
  })
  .map((parts) => {
    let ms = 0;
    return parts.map(([text, lengthMs, pauseMs]): Word => {
      const startMs = ms + pauseMs;
      ms = startMs + lengthMs;
      return { startMs, endMs: ms, text };
    });
  });

/** Arbitrary output of a broken recognizer. */
const nonsense = fc.array(
  fc.record({
    startMs: fc.integer({ min: -1000, max: 60_000 }),
    endMs: fc.integer({ min: -1000, max: 60_000 }),
    text: fc.string({ maxLength: 150 }),
  }),
  { maxLength: 120 },
);

const check = (words: readonly Word[], durationMs: number) => {
  const cues = makeCues(words, durationMs);
  let latestSeconds = 0;
  for (const { startSeconds, endSeconds, text } of cues) {
    expect(startSeconds).toBeGreaterThanOrEqual(latestSeconds);
    expect(endSeconds).toBeGreaterThan(startSeconds);
    expect(endSeconds - startSeconds).toBeLessThanOrEqual(7.0005);
    latestSeconds = endSeconds;
    const lines = text.split('\n');
    expect(lines.length).toBeLessThanOrEqual(2);
    for (const line of lines) expect([...plainText(line)].length).toBeLessThanOrEqual(42);
  }
  return cues;
};

describe('cues', () => {
  test('of speech hold every word once and keep to the rules', () => {
    fc.assert(
      fc.property(speech, (words) => {
        const durationMs = words.at(-1)!.endMs + 5000;
        const cues = check(words, durationMs);
        expect(cues.flatMap(({ text }) => text.split(/\s/).map(plainText))).toEqual(words.map(({ text }) => text));
        let at = 0;
        for (const [index, cue] of cues.entries()) {
          const count = cue.text.split(/\s/).length;
          const own = words.slice(at, at + count);
          at += count;
          expect(cue.startSeconds * 1000).toBeCloseTo(own[0]!.startMs, 5);
          for (let i = 1; i < own.length; i++) expect(own[i]!.startMs - own[i - 1]!.endMs).toBeLessThanOrEqual(1200);
          const next = cues[index + 1];
          // Ends 83 ms before the next one and lasts at least a second if there is room.
          const roomMs = next ? (next.startSeconds - cue.startSeconds) * 1000 : Number.POSITIVE_INFINITY;
          if (roomMs >= 1083) expect(cue.endSeconds - cue.startSeconds).toBeGreaterThanOrEqual(0.9995);
          if (next && roomMs > 84) expect(next.startSeconds - cue.endSeconds).toBeGreaterThanOrEqual(0.0825);
        }
      }),
    );
  });

  test('of anything at all keep to the rules', () => {
    fc.assert(
      fc.property(nonsense, (words) => {
        for (const { endSeconds } of check(words, 60_000)) expect(endSeconds).toBeLessThanOrEqual(60.0005);
      }),
    );
  });

  test('end at sentences and before conjunctions', () => {
    const text =
      'The morning train leaves the station at seven. We walked along the river and talked about the weather, ' +
      'because the last bus had gone and nobody wanted to wait for the next.';
    let ms = 0;
    const words = text.split(' ').map((word) => {
      const startMs = ms;
      ms += 120 + word.length * 60;
      return { startMs, endMs: ms - 40, text: word };
    });
    expect(makeCues(words, ms).map((cue) => cue.text)).toEqual([
      'The morning train leaves\nthe station at seven.',
      'We walked along the river\nand talked about the weather,',
      'because the last bus had gone\nand nobody wanted to wait for the next.',
    ]);
  });

  test('of two hours of speech are few and made at once', () => {
    const words = Array.from({ length: 18_000 }, (_, at) => ({
      startMs: at * 400,
      endMs: at * 400 + 330,
      text: at % 11 === 10 ? 'sentence.' : at % 7 === 3 ? 'and' : 'something',
    }));
    const cues = check(words, 18_000 * 400);
    expect(cues.filter(({ text }) => !/\s/.test(text))).toHaveLength(0);
    for (const { startSeconds, endSeconds } of cues) expect(endSeconds - startSeconds).toBeGreaterThanOrEqual(1);
  });
});
