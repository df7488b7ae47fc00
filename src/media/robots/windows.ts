export interface Window {
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
}

/**
 * Parts of a list whose sizes add up to at most `limit`, unless a single item is larger. Each begins so far before the end
 * of the one before that `overlap` is in both; it always goes further.
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
