import type { Size } from '../plan/ladder.js';
import {
  type AnimatedParameters,
  MAX_ANIMATED_SIDE,
  MAX_THUMBNAIL_SIDE,
  type ThumbnailParameters,
} from './parameters.js';

/** How a still is made from the stored frame. The steps are listed in order. */
export interface StillLayout {
  /**
   * Size to which the stored frame is scaled. Never enlarged: an enlarged panorama would not fit in
   * memory.
   */
  readonly frame: Size;
  /** The part of it that is kept: the center, or the area with the most detail. */
  readonly crop?: Size & { readonly place: 'centre' | 'smart' };
  /** Size to which the kept part is scaled. */
  readonly scaled: Size;
  /** Size after padding with black. */
  readonly canvas?: Size;
  /** Clockwise. */
  readonly rotate: 0 | 90 | 180 | 270;
  readonly flipHorizontal: boolean;
  readonly flipVertical: boolean;
}

const DEFAULT_ANIMATED_WIDTH = 320;

/** Scales up or down to fit the box and keeps the aspect ratio. Rounds down to at least 1 pixel. */
export const fitBox = ({ width, height }: Size, box: Size): Size => {
  // A single division of whole numbers keeps exact results exact.
  const isWide = box.width * height <= box.height * width;
  return isWide
    ? { width: box.width, height: Math.max(1, Math.floor((height * box.width) / width)) }
    : { width: Math.max(1, Math.floor((width * box.height) / height)), height: box.height };
};

const isLarger = (a: Size, b: Size): boolean => a.width > b.width || a.height > b.height;

/**
 * The smallest frame size that covers the box, and the part of the frame that has the aspect ratio
 * of the box.
 */
const cover = (stored: Size, box: Size): { frame: Size; part: Size } => {
  const scale = Math.max(box.width / stored.width, box.height / stored.height);
  const scaleDown = Math.min(scale, 1);
  const atMost = (value: number, most: number): number => Math.min(Math.max(1, Math.round(value)), most);
  const frame = {
    width: Math.max(1, Math.round(stored.width * scaleDown)),
    height: Math.max(1, Math.round(stored.height * scaleDown)),
  };
  const part = {
    width: atMost(scale < 1 ? box.width : box.width / scale, frame.width),
    height: atMost(scale < 1 ? box.height : box.height / scale, frame.height),
  };
  return { frame, part };
};

/** @param stored size of the highest rendition */
export const planStill = (stored: Size, parameters: ThumbnailParameters): StillLayout => {
  const { width, height, fitMode, rotate, flipHorizontal, flipVertical } = parameters;
  const orientation = { rotate, flipHorizontal, flipVertical };
  if (width === undefined && height === undefined) return { frame: stored, scaled: stored, ...orientation };
  const box = { width: width ?? MAX_THUMBNAIL_SIDE, height: height ?? MAX_THUMBNAIL_SIDE };
  // With one side there is no box to fill.
  const mode = width === undefined || height === undefined ? 'preserve' : fitMode;
  if (mode === 'preserve' || mode === 'pad') {
    const scaled = fitBox(stored, box);
    const frame = isLarger(scaled, stored) ? stored : scaled;
    return { frame, scaled, ...(mode === 'pad' && isLarger(box, scaled) && { canvas: box }), ...orientation };
  }
  const { frame, part } = cover(stored, box);
  if (mode === 'stretch') return { frame, scaled: box, ...orientation };
  const place = mode === 'crop' ? ('centre' as const) : ('smart' as const);
  return { frame, ...(isLarger(frame, part) && { crop: { ...part, place } }), scaled: box, ...orientation };
};

/** Size of the finished still. */
export const stillSize = ({ scaled, canvas, rotate }: StillLayout): Size => {
  const { width, height } = canvas ?? scaled;
  return rotate % 180 === 0 ? { width, height } : { width: height, height: width };
};

export const animatedSize = (stored: Size, { width, height }: Pick<AnimatedParameters, 'width' | 'height'>): Size =>
  fitBox(stored, {
    width: width ?? (height === undefined ? DEFAULT_ANIMATED_WIDTH : MAX_ANIMATED_SIDE),
    height: height ?? MAX_ANIMATED_SIDE,
  });

/**
 * The last tick of a moment. The frame that begins at or before this tick is displayed. Players
 * report times in microseconds, so the reported time of a frame can be slightly too small.
 */
export const ticksAt = (seconds: number, timescale: number): number => Math.floor((seconds + 1e-6) * timescale);
