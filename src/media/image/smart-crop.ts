import type { Size } from '../plan/ladder.js';

/** 8-bit luma. */
interface Luma extends Size {
  readonly data: Uint8Array;
  readonly stride: number;
}

/** The window leaves the middle only for a position with at least this many times the detail. */
const CENTRE_BONUS = 1.1;

/**
 * The position of a window of the given size that contains the most detail, measured as the
 * difference between neighboring pixels. Returns the middle when nothing stands out.
 */
export const findSmartCrop = (image: Luma, window: Size): { left: number; top: number } => {
  const { columns, rows } = sumChanges(image);
  return { left: bestOffset(columns, window.width), top: bestOffset(rows, window.height) };
};

const sumChanges = ({ data, stride, width, height }: Luma): { columns: Float64Array; rows: Float64Array } => {
  const columns = new Float64Array(width);
  const rows = new Float64Array(height);
  for (let y = 0; y + 1 < height; y += 1) {
    for (let x = 0; x + 1 < width; x += 1) {
      const at = y * stride + x;
      const here = data[at]!;
      const change = Math.abs(here - data[at + 1]!) + Math.abs(here - data[at + stride]!);
      columns[x]! += change;
      rows[y]! += change;
    }
  }
  return { columns, rows };
};

/** Start of the window of `length` with the largest sum. */
const bestOffset = (sums: Float64Array, length: number): number => {
  const last = sums.length - length;
  const middle = Math.floor(last / 2);
  let sum = 0;
  let best = middle;
  let most = 0;
  let ofMiddle = 0;
  for (let end = 0; end < sums.length; end += 1) {
    sum += sums[end]!;
    const start = end - length + 1;
    if (start < 0) continue;
    if (start === middle) ofMiddle = sum;
    if (sum > most) [most, best] = [sum, start];
    sum -= sums[start]!;
  }
  return most > ofMiddle * CENTRE_BONUS ? best : middle;
};
