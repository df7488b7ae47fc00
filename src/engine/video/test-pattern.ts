/**
 * Draws marks on generated frames without a font: a number as seven-segment digits for people, and
 * a 16-bit frame counter as black and white bars for measurements. Planes are 8-bit luma in limited
 * range.
 */

export interface LumaPlane {
  readonly data: Uint8Array;
  readonly stride: number;
  readonly width: number;
  readonly height: number;
}

const BLACK = 16;
const WHITE = 235;

export const fillRectangle = (
  plane: LumaPlane,
  left: number,
  top: number,
  width: number,
  height: number,
  value: number,
): void => {
  const x0 = Math.max(0, Math.round(left));
  const x1 = Math.min(plane.width, Math.round(left + width));
  const y0 = Math.max(0, Math.round(top));
  const y1 = Math.min(plane.height, Math.round(top + height));
  for (let y = y0; y < y1 && x0 < x1; y++) plane.data.fill(value, y * plane.stride + x0, y * plane.stride + x1);
};

/** The height of one row of counter bars, as a share of the frame height. */
const COUNTER_ROW = 1 / 24;
const COUNTER_BITS = 16;

/**
 * Paints two rows at the top edge, each 1/24 of the height: 16 bars across the width, most
 * significant bit first, white is 1. The second row is the complement of the first, so that a
 * reader can tell a bar from a bright frame.
 */
export const paintCounter = (plane: LumaPlane, counter: number): void => {
  const barWidth = plane.width / COUNTER_BITS;
  const rowHeight = plane.height * COUNTER_ROW;
  for (let bar = 0; bar < COUNTER_BITS; bar++) {
    const on = ((counter >> (COUNTER_BITS - 1 - bar)) & 1) === 1;
    fillBar(plane, bar * barWidth, 0, barWidth, rowHeight, on ? WHITE : BLACK);
    fillBar(plane, bar * barWidth, rowHeight, barWidth, rowHeight, on ? BLACK : WHITE);
  }
};

// Each edge is rounded separately so that neighboring bars neither overlap nor leave a gap.
const fillBar = (plane: LumaPlane, left: number, top: number, width: number, height: number, value: number): void => {
  const x = Math.round(left);
  const y = Math.round(top);
  fillRectangle(plane, x, y, Math.round(left + width) - x, Math.round(top + height) - y, value);
};

/**
 * Segments a to g as bits 0 to 6: top, upper right, lower right, bottom, lower left, upper left,
 * middle.
 */
const SEGMENTS: Readonly<Record<string, number>> = {
  '0': 0x3f,
  '1': 0x06,
  '2': 0x5b,
  '3': 0x4f,
  '4': 0x66,
  '5': 0x6d,
  '6': 0x7d,
  '7': 0x07,
  '8': 0x7f,
  '9': 0x6f,
};

/** Width of `text` in units of digit height. */
export const textWidth = (text: string): number => [...text].reduce((sum, c) => sum + advance(c), 0) - GAP;
const DIGIT_WIDTH = 0.54;
const GAP = 0.16;
const advance = (c: string): number => (c in SEGMENTS ? DIGIT_WIDTH : c === ' ' ? 0.3 : 0.14) + GAP;

/** Draws digits, `:`, `.` and spaces, `height` pixels high. */
export const paintDigits = (
  plane: LumaPlane,
  text: string,
  left: number,
  top: number,
  height: number,
  value: number = WHITE,
): void => {
  const stroke = height * 0.14;
  const width = height * DIGIT_WIDTH;
  let x = left;
  for (const c of text) {
    const bits = SEGMENTS[c];
    if (bits !== undefined) {
      const half = (height - stroke) / 2;
      const bars = [
        [stroke * 0.5, 0, width - stroke, stroke],
        [width - stroke, stroke * 0.5, stroke, half],
        [width - stroke, half + stroke * 0.5, stroke, half],
        [stroke * 0.5, height - stroke, width - stroke, stroke],
        [0, half + stroke * 0.5, stroke, half],
        [0, stroke * 0.5, stroke, half],
        [stroke * 0.5, half, width - stroke, stroke],
      ] as const;
      bars.forEach(([dx, dy, w, h], i) => {
        if (((bits >> i) & 1) === 1) fillRectangle(plane, x + dx, top + dy, w, h, value);
      });
    } else if (c === ':') {
      fillRectangle(plane, x, top + height * 0.28, stroke, stroke, value);
      fillRectangle(plane, x, top + height * 0.62, stroke, stroke, value);
    } else if (c === '.') {
      fillRectangle(plane, x, top + height - stroke, stroke, stroke, value);
    }
    x += advance(c) * height;
  }
};

/** A disc with a soft edge of one pixel. */
export const fillDisc = (plane: LumaPlane, centreX: number, centreY: number, radius: number, value: number): void => {
  const y0 = Math.max(0, Math.floor(centreY - radius - 1));
  const y1 = Math.min(plane.height - 1, Math.ceil(centreY + radius + 1));
  for (let y = y0; y <= y1; y++) {
    const outer = halfChord(radius + 0.5, y - centreY);
    const inner = halfChord(radius - 0.5, y - centreY);
    const x0 = Math.max(0, Math.ceil(centreX - outer));
    const x1 = Math.min(plane.width - 1, Math.floor(centreX + outer));
    for (let x = x0; x <= x1; x++) {
      const at = y * plane.stride + x;
      const cover = Math.abs(x - centreX) <= inner ? 1 : radius + 0.5 - Math.hypot(x - centreX, y - centreY);
      plane.data[at] = Math.round((plane.data[at] as number) * (1 - cover) + value * cover);
    }
  }
};

/** Half the width of a disc at this distance from its center; 0 outside. */
const halfChord = (radius: number, distance: number): number =>
  Math.sqrt(Math.max(0, radius * radius - distance * distance));
