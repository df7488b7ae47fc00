import { planStoryboard, type Storyboard } from '../image/storyboard.js';
import type { VideoPlan } from '../plan/plan.js';
import type { SegmentWindow } from './playback-modifiers.js';

/**
 * Preview frames in HLS as one sprite sheet, following the Image Media Playlist specification
 * (version 0.4).
 */

/** Twice the maximum measured for detailed frames at storyboard quality. */
const BITS_PER_PIXEL = 4;

/** The storyboard of the segments [first, end), or of the whole asset. */
export const windowStoryboard = (video: VideoPlan, window: SegmentWindow | undefined): Storyboard => {
  const { boundaries, timescale } = video;
  const secondsAt = (segment: number): number => boundaries[Math.min(segment, boundaries.length - 1)]! / timescale;
  const startSeconds = secondsAt(window?.first ?? 0);
  return planStoryboard(video, { startSeconds, endSeconds: secondsAt(window?.end ?? boundaries.length - 1) });
};

/** bit/s of the sprite sheet over its duration. */
export const sheetBandwidth = ({ tile, tiles, window }: Storyboard): number =>
  Math.ceil((tile.width * tile.height * tiles * BITS_PER_PIXEL) / (window.endSeconds - window.startSeconds));

/** The line of a multivariant playlist; `uri` is a quoted-string. */
export const imageStream = (video: VideoPlan, window: SegmentWindow | undefined, uri: string): string => {
  const storyboard = windowStoryboard(video, window);
  const { tile } = storyboard;
  return `#EXT-X-IMAGE-STREAM-INF:BANDWIDTH=${sheetBandwidth(storyboard)},RESOLUTION=${tile.width}x${tile.height},CODECS="jpeg",URI=${uri}`;
};

/** A playlist with a single sprite sheet, whose duration is that of the storyboard's window. */
export const imagePlaylist = ({ window, tile, tiles, columns, rows }: Storyboard, spriteSheetUri: string): string => {
  const seconds = window.endSeconds - window.startSeconds;
  return [
    '#EXTM3U',
    '#EXT-X-VERSION:7',
    `#EXT-X-TARGETDURATION:${Math.ceil(seconds)}`,
    '#EXT-X-MEDIA-SEQUENCE:0',
    '#EXT-X-PLAYLIST-TYPE:VOD',
    '#EXT-X-IMAGES-ONLY',
    `#EXTINF:${seconds.toFixed(6)},`,
    `#EXT-X-TILES:RESOLUTION=${tile.width}x${tile.height},LAYOUT=${columns}x${rows},DURATION=${(seconds / tiles).toFixed(6)}`,
    spriteSheetUri,
    '#EXT-X-ENDLIST',
    '',
  ].join('\n');
};
