import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mapWords, packWindows, type Span } from './pack-windows.js';

const LONGEST_MS = 30_000;

/** Alternating speech and pauses. */
const tracks = fc
  .array(fc.tuple(fc.integer({ min: 0, max: 20_000 }), fc.integer({ min: 32, max: 95_000 })), { maxLength: 40 })
  .map((parts) => {
    const spans: Span[] = [];
    let ms = 0;
    for (const [pauseMs, speechMs] of parts) {
      spans.push({ startMs: ms + pauseMs, endMs: ms + pauseMs + speechMs });
      ms += pauseMs + speechMs;
    }
    return { spans, durationMs: ms + 137 };
  });

test('windows hold all speech, in order, without overlap, and are never longer than a recognizer looks at', () => {
  fc.assert(
    fc.property(tracks, ({ spans, durationMs }) => {
      const windows = packWindows(spans, durationMs);
      let latestMs = 0;
      for (const { pieces, lengthMs } of windows) {
        expect(lengthMs).toBeLessThanOrEqual(LONGEST_MS);
        let filledMs = -300;
        for (const { startMs, endMs, atMs } of pieces) {
          expect(startMs).toBeGreaterThanOrEqual(latestMs);
          expect(endMs).toBeGreaterThan(startMs);
          expect(atMs).toBe(filledMs + 300);
          filledMs = atMs + endMs - startMs;
          latestMs = endMs;
        }
        expect(filledMs).toBe(lengthMs);
      }
      expect(latestMs).toBeLessThanOrEqual(durationMs);
      const pieces = windows.flatMap((window) => window.pieces);
      for (const { startMs, endMs } of spans) {
        const heardMs = pieces.reduce(
          (sum, piece) => sum + Math.max(0, Math.min(endMs, piece.endMs) - Math.max(startMs, piece.startMs)),
          0,
        );
        expect(heardMs).toBe(endMs - startMs);
      }
    }),
  );
});

test('a piece that fits into a window is never cut', () => {
  fc.assert(
    fc.property(tracks, ({ spans, durationMs }) => {
      const pieces = packWindows(spans, durationMs).flatMap((window) => window.pieces);
      for (const { startMs, endMs } of spans)
        if (endMs - startMs <= LONGEST_MS - 400)
          expect(pieces.filter((piece) => piece.startMs < endMs && piece.endMs > startMs)).toHaveLength(1);
    }),
  );
});

test('words come back to where they were said', () => {
  fc.assert(
    fc.property(tracks, fc.integer({ min: 0, max: 400 }), ({ spans, durationMs }, lateMs) => {
      for (const window of packWindows(spans, durationMs)) {
        const words = window.pieces.map(({ atMs, startMs, endMs }) => ({
          startMs: atMs + Math.min(lateMs, endMs - startMs - 1),
          endMs: atMs + endMs - startMs,
          text: 'said',
        }));
        const mapped = mapWords(window, words);
        expect(mapped).toHaveLength(words.length);
        window.pieces.forEach((piece, at) => {
          expect(mapped[at]!.startMs - piece.startMs).toBe(Math.min(lateMs, piece.endMs - piece.startMs - 1));
          expect(mapped[at]!.endMs).toBe(piece.endMs);
        });
      }
    }),
  );
});

test('words with times that are nowhere stay within speech', () => {
  const [window] = packWindows([{ startMs: 10_000, endMs: 12_000 }], 60_000);
  const mapped = mapWords(window!, [
    { startMs: -50, endMs: -20, text: 'early' },
    { startMs: 90_000, endMs: 95_000, text: 'late' },
  ]);
  expect(mapped).toEqual([
    { startMs: 9800, endMs: 9800, text: 'early' },
    { startMs: 12_200, endMs: 12_200, text: 'late' },
  ]);
});

test('silence costs nothing', () => {
  const spans = [1, 20, 60, 88].map((second) => ({ startMs: second * 1000, endMs: second * 1000 + 4000 }));
  expect(packWindows(spans, 100_000)).toHaveLength(1);
  expect(packWindows([], 100_000)).toEqual([]);
});
