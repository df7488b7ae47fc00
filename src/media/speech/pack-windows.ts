import type { Word } from './word.js';

/** A part of an audio track, in milliseconds on the timeline of the asset. */
export interface Span {
  readonly startMs: number;
  readonly endMs: number;
}

/** A span that is recognized as a part of a window. */
export interface Piece extends Span {
  /** Start of the piece in the window. */
  readonly atMs: number;
}

/** Pieces of speech that are recognized together, with silence between them. */
export interface SpeechWindow {
  readonly pieces: readonly Piece[];
  readonly lengthMs: number;
}

/** Whisper models process this much audio in one pass. */
const WINDOW_MS = 30_000;
/** Padding, because speech detection cuts off the first and last sounds of a word. */
const PAD_MS = 200;
const MERGE_BELOW_MS = 500;
/** Keeps a recognizer from joining the words of two pieces. */
const BETWEEN_PIECES_MS = 300;

/**
 * Packs the speech of a track, in order, into as few windows as possible, so that no time is spent
 * on silence. A piece is split only when it is longer than a window. `spans` are sorted and do not
 * overlap.
 */
export const packWindows = (spans: readonly Span[], durationMs: number): SpeechWindow[] => {
  const windows: { pieces: Piece[]; lengthMs: number }[] = [];
  for (const span of listPieces(spans, durationMs)) {
    const length = span.endMs - span.startMs;
    const last = windows.at(-1);
    const atMs = last ? last.lengthMs + BETWEEN_PIECES_MS : 0;
    if (last && atMs + length <= WINDOW_MS) {
      last.pieces.push({ ...span, atMs });
      last.lengthMs = atMs + length;
    } else {
      windows.push({ pieces: [{ ...span, atMs: 0 }], lengthMs: length });
    }
  }
  return windows;
};

const listPieces = (spans: readonly Span[], durationMs: number): Span[] => {
  const merged: { startMs: number; endMs: number }[] = [];
  for (const { startMs, endMs } of spans) {
    const last = merged.at(-1);
    const joined = last && startMs - last.endMs < MERGE_BELOW_MS && endMs - last.startMs + 2 * PAD_MS <= WINDOW_MS;
    if (joined) last.endMs = Math.max(last.endMs, endMs);
    else merged.push({ startMs, endMs });
  }
  return merged.flatMap((span, at) => {
    // Two neighbors that are too long to be merged share the gap between them.
    const before = at === 0 ? span.startMs : Math.floor((span.startMs - merged[at - 1]!.endMs) / 2);
    const after = at === merged.length - 1 ? PAD_MS : Math.floor((merged[at + 1]!.startMs - span.endMs) / 2);
    const startMs = Math.max(0, span.startMs - Math.min(PAD_MS, before));
    const endMs = Math.min(durationMs, span.endMs + Math.min(PAD_MS, after));
    return endMs > startMs ? cutEvenly({ startMs, endMs }) : [];
  });
};

const cutEvenly = ({ startMs, endMs }: Span): Span[] => {
  const count = Math.ceil((endMs - startMs) / WINDOW_MS);
  const placeOf = (part: number): number => startMs + Math.round(((endMs - startMs) * part) / count);
  return Array.from({ length: count }, (_, part) => ({ startMs: placeOf(part), endMs: placeOf(part + 1) }));
};

/** Converts word times from the window to the track. Each word stays within its piece. */
export const mapWords = ({ pieces }: SpeechWindow, words: readonly Word[]): Word[] =>
  words.flatMap(({ startMs, endMs, text }) => {
    const piece = nearestPiece(pieces, (startMs + endMs) / 2);
    if (!piece || text === '') return [];
    const toTimeline = (ms: number): number =>
      Math.round(Math.min(piece.endMs, Math.max(piece.startMs, piece.startMs + ms - piece.atMs)));
    const mapped = toTimeline(startMs);
    return [{ startMs: mapped, endMs: Math.max(mapped, toTimeline(endMs)), text }];
  });

const nearestPiece = (pieces: readonly Piece[], ms: number): Piece | undefined => {
  const distance = ({ startMs, endMs, atMs }: Piece): number => Math.max(atMs - ms, ms - (atMs + endMs - startMs), 0);
  return pieces.reduce<Piece | undefined>(
    (best, piece) => (best && distance(best) <= distance(piece) ? best : piece),
    undefined,
  );
};
