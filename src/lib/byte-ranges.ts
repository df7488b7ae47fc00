/** A part of a file: bytes from `start` up to, but not including, `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** Sorted, not overlapping or adjacent, and without empty ranges. */
export type ByteRanges = readonly ByteRange[];

/** The parts of an incomplete file that are present. */
export interface PresentRanges {
  readonly ranges: ByteRanges;
  /** Another number means that the same ranges may hold other bytes. */
  readonly version: number;
}

/** The bytes that are in any of `ranges`; ranges less than `gap` bytes apart are joined. */
export const mergeRanges = (ranges: readonly ByteRange[], gap = 0): ByteRange[] => {
  const merged: { start: number; end: number }[] = [];
  for (const { start, end } of ranges.filter((range) => range.end > range.start).sort((a, b) => a.start - b.start)) {
    const last = merged.at(-1);
    if (last && start <= last.end + gap) last.end = Math.max(last.end, end);
    else merged.push({ start, end });
  }
  return merged;
};

/** Whether all of [start, end) is in one of `ranges`. */
export const coversRange = (ranges: ByteRanges, start: number, end: number): boolean =>
  ranges.some((range) => range.start <= start && end <= range.end);

/** The bytes of `wanted` that are not in `present`. */
export const missingRanges = (needed: ByteRanges, present: ByteRanges): ByteRange[] =>
  needed.flatMap((range) => {
    const missing: ByteRange[] = [];
    let at = range.start;
    for (const { start, end } of present) {
      if (end <= at || start >= range.end) continue;
      if (start > at) missing.push({ start: at, end: start });
      at = end;
    }
    if (at < range.end) missing.push({ start: at, end: range.end });
    return missing;
  });

export const countBytes = (ranges: ByteRanges): number => ranges.reduce((sum, { start, end }) => sum + end - start, 0);
