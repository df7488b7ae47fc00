import type { LumaFrame } from './measure.js';

/** Mean squared error of the luma of each frame beside the same one of the source. */
export const lumaErrors = (made: readonly LumaFrame[], source: readonly LumaFrame[]): number[] =>
  made.map(({ luma }, frame) => {
    const original = source[frame]!.luma;
    let squares = 0;
    for (let at = 0; at < luma.length; at += 1) squares += (luma[at]! - original[at]!) ** 2;
    return squares / luma.length;
  });

/** Peak signal-to-noise ratio, dB, of frames with these errors. */
export const psnr = (errors: readonly number[]): number =>
  10 * Math.log10((255 ** 2 * errors.length) / errors.reduce((sum, error) => sum + error, 0));
