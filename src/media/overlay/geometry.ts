import type { OverlayPlacement } from '../plan/plan.js';

/**
 * The settings as in the API; lengths are `12%` or `40px`, and an empty string counts as absent.
 */
export interface OverlaySettings {
  readonly vertical_align?: 'top' | 'middle' | 'bottom';
  readonly vertical_margin?: string;
  readonly horizontal_align?: 'left' | 'center' | 'right';
  readonly horizontal_margin?: string;
  readonly width?: string;
  readonly height?: string;
  readonly opacity?: string;
}

interface Size {
  readonly width: number;
  readonly height: number;
}

/**
 * The frame that pixel values refer to: the video frame is fitted into it, rotated for portrait.
 */
const VIRTUAL_LONG_SIDE = 1920;
const VIRTUAL_SHORT_SIDE = 1080;

/**
 * Where an overlay is placed on a frame of the size `frame` (upright, square pixels; only its shape
 * matters). Percentages refer to the frame, pixels to a virtual frame of 1920 x 1080 (reference
 * inputs-and-tracks.md 6).
 */
export const placeOverlay = (
  settings: OverlaySettings,
  image: Size,
  frame: Size,
): Pick<OverlayPlacement, 'left' | 'top' | 'width' | 'height' | 'opacity'> => {
  const virtual = virtualFrame(frame);
  const givenWidth = fractionOf(settings.width, virtual.width);
  const givenHeight = fractionOf(settings.height, virtual.height);
  const aspect = (image.width / image.height) * (virtual.height / virtual.width);
  const width = givenWidth ?? (givenHeight === undefined ? image.width / virtual.width : givenHeight * aspect);
  const height = givenHeight ?? width / aspect;
  const horizontalMargin = fractionOf(settings.horizontal_margin, virtual.width) ?? 0;
  const verticalMargin = fractionOf(settings.vertical_margin, virtual.height) ?? 0;
  return {
    left: align(settings.horizontal_align || 'left', width, horizontalMargin),
    top: align(settings.vertical_align || 'top', height, verticalMargin),
    width,
    height,
    opacity: fractionOf(settings.opacity, 1) ?? 1,
  };
};

const virtualFrame = ({ width, height }: Size): Size => {
  const portrait = height > width;
  const scale = Math.min(
    (portrait ? VIRTUAL_SHORT_SIDE : VIRTUAL_LONG_SIDE) / width,
    (portrait ? VIRTUAL_LONG_SIDE : VIRTUAL_SHORT_SIDE) / height,
  );
  return { width: width * scale, height: height * scale };
};

const fractionOf = (length: string | undefined, pixels: number): number | undefined => {
  if (!length) return undefined;
  const value = Number.parseFloat(length);
  return length.endsWith('%') ? value / 100 : value / pixels;
};

/**
 * A margin is the distance from the aligned edge, or the offset from the center to the right and
 * down.
 */
const align = (
  edge: 'left' | 'top' | 'center' | 'middle' | 'right' | 'bottom',
  size: number,
  margin: number,
): number => {
  if (edge === 'left' || edge === 'top') return margin;
  return edge === 'right' || edge === 'bottom' ? 1 - margin - size : 0.5 - size / 2 + margin;
};

/**
 * The size at which an image is stored: no larger than its largest possible size on a frame, with
 * the same aspect ratio.
 */
export const fitOverlay = (natural: Size, { maxWidth, maxHeight }: { maxWidth: number; maxHeight: number }): Size => {
  const scale = Math.min(1, Math.max(maxWidth / natural.width, maxHeight / natural.height));
  return {
    width: Math.max(1, Math.round(natural.width * scale)),
    height: Math.max(1, Math.round(natural.height * scale)),
  };
};

/** The maximum enlargement of a stored image relative to the frame. */
const MAX_ENLARGED = 2;

export interface OverlayPixels extends Size {
  /** The upper left corner on the frame; may be negative. */
  readonly left: number;
  readonly top: number;
  /** The part of the stored image that is used; absent means all of it. */
  readonly crop?: Size & { readonly left: number; readonly top: number };
}

/**
 * The position in whole pixels on a frame of this size. If the image is much larger than the frame,
 * only the visible part is used.
 */
export const overlayPixels = (
  { left, top, width, height, image }: Omit<OverlayPlacement, 'assetId' | 'input' | 'opacity'>,
  frame: Size,
): OverlayPixels => {
  if (width <= MAX_ENLARGED && height <= MAX_ENLARGED) {
    const [across, down] = [span(left, width, frame.width), span(top, height, frame.height)];
    return { left: across.at, top: down.at, width: across.length, height: down.length };
  }
  const seen = { x: visible(left, width, image.width), y: visible(top, height, image.height) };
  const [across, down] = [span(seen.x.at, seen.x.length, frame.width), span(seen.y.at, seen.y.length, frame.height)];
  return {
    left: across.at,
    top: down.at,
    width: across.length,
    height: down.length,
    crop: { left: seen.x.first, top: seen.y.first, width: seen.x.count, height: seen.y.count },
  };
};

/**
 * Whole pixels along one axis. Two pixels share a color sample, so FFmpeg starts at even pixels and
 * rounds odd ones down.
 */
const span = (at: number, length: number, pixels: number): { at: number; length: number } => {
  const first = Math.round((at * pixels) / 2) * 2;
  return { at: first, length: Math.max(1, Math.round((at + length) * pixels) - first) };
};

/** Along one axis: the whole pixels of the image that touch the frame, and their position on it. */
const visible = (at: number, length: number, pixels: number) => {
  const first = Math.min(Math.max(Math.floor((-at / length) * pixels), 0), pixels - 1);
  const end = Math.max(Math.min(Math.ceil(((1 - at) / length) * pixels), pixels), first + 1);
  const pixel = length / pixels;
  return { first, count: end - first, at: at + first * pixel, length: (end - first) * pixel };
};
