import type { OverlayPlacement } from './plan.js';

/** As the API takes them; lengths are `12%` or `40px`, an empty text counts as absent. */
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

/** The frame on which pixel values are meant: the picture fitted into it, turned for portrait. */
const VIRTUAL_LONG_SIDE = 1920;
const VIRTUAL_SHORT_SIDE = 1080;

/**
 * Where an overlay goes on a picture of `frame` (upright, square pixels; only its shape matters). Percentages refer to the
 * frame, pixels to a virtual frame of 1920 x 1080 (reference inputs-and-tracks.md 6).
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

/** A margin is the distance from the aligned edge, or the way from the centre towards right and below. */
const align = (
  edge: 'left' | 'top' | 'center' | 'middle' | 'right' | 'bottom',
  size: number,
  margin: number,
): number => {
  if (edge === 'left' || edge === 'top') return margin;
  return edge === 'right' || edge === 'bottom' ? 1 - margin - size : 0.5 - size / 2 + margin;
};
