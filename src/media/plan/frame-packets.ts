import { isMatroskaFormat, isMovFormat, listFrames } from '../source/frames.js';
import type { SourceFacts, VideoFacts } from '../source/source-facts.js';
import type { SourceIndex } from '../source/source-index.js';

/** Codecs whose packets each contain exactly one frame in MP4, MOV and Matroska. */
export const ONE_FRAME_PACKETS: ReadonlySet<string> = new Set(['h264', 'hevc', 'vp9', 'av1', 'prores', 'mjpeg']);

/**
 * Whether each packet of a file holds a frame. A packet of a program stream may contain several
 * frames, or, if interlaced, half a frame.
 */
export const holdFrames = (formatName: string, { codec, interlaced }: VideoFacts): boolean =>
  (isMovFormat(formatName) || isMatroskaFormat(formatName)) && ONE_FRAME_PACKETS.has(codec) && !interlaced;

/**
 * How many frames of the source a mezzanine with the frames `made` lacks; 0 where packets don't
 * tell.
 */
export const countLostFrames = (
  { facts: { video, formatName }, index }: { readonly facts: SourceFacts; readonly index: SourceIndex },
  reused: Float64Array,
): number =>
  video && index.video && holdFrames(formatName, video)
    ? Math.max(listFrames(index.video, formatName).length - reused.length, 0)
    : 0;
