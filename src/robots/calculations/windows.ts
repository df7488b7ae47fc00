export interface Window {
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
}

/**
 * Splits a list into windows whose sizes add up to at most `limit`, unless a single item is larger.
 * Consecutive windows share items of a total size of up to `overlap`, and each window starts after
 * the start of the previous one.
 */
export const planWindows = (sizes: readonly number[], limit: number, overlap: number): Window[] => {
  const windows: Window[] = [];
  let start = 0;
  while (start < sizes.length) {
    let end = start;
    let total = 0;
    while (end < sizes.length && (end === start || total + sizes[end]! <= limit)) total += sizes[end++]!;
    windows.push({ start, end });
    if (end === sizes.length) break;
    let next = end;
    let shared = 0;
    while (next - 1 > start && shared + sizes[next - 1]! <= overlap) shared += sizes[--next]!;
    start = next;
  }
  return windows;
};
