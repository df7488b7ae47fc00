import type { Size } from '../plan/ladder.js';
import {
  type AnimatedParameters,
  MAX_ANIMATED_SIDE,
  MAX_THUMBNAIL_SIDE,
  type ThumbnailParameters,
} from './parameters.js';

/** How a still is made of the stored frame; the steps are in their order. */
export interface StillLayout {
  /** The stored frame in this size, never enlarged: what a panorama would become is more than memory holds. */
  readonly frame: Size;
  /** The part of it that is kept: in its middle, or where there is most to see. */
  readonly crop?: Size & { readonly place: 'centre' | 'smart' };
  /** What was kept, in this size. */
  readonly scaled: Size;
  /** Black around it, up to this size. */
  readonly canvas?: Size;
  /** Clockwise. */
  readonly rotate: 0 | 90 | 180 | 270;
  readonly flipHorizontal: boolean;
  readonly flipVertical: boolean;
}

const DEFAULT_ANIMATED_WIDTH = 320;

/** Scaled into the box, larger or smaller, aspect kept; rounded down, at least 1 pixel. */
export const fitBox = ({ width, height }: Size, box: Size): Size => {
  // Whole numbers are divided once, so that an exact result stays exact.
  const isWide = box.width * height <= box.height * width;
  return isWide
    ? { width: box.width, height: Math.max(1, Math.floor((height * box.width) / width)) }
    : { width: Math.max(1, Math.floor((width * box.height) / height)), height: box.height };
};

const isLarger = (a: Size, b: Size): boolean => a.width > b.width || a.height > b.height;

/** The frame in the smallest size that covers the box, and the part of it that has the box's shape. */
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
 * The last tick of a moment; a frame is displayed at it that begins then or before. Players tell times in microseconds, so
 * that the time of a frame may come back a little too small.
 */
export const ticksAt = (seconds: number, timescale: number): number => Math.floor((seconds + 1e-6) * timescale);
