import { writeFileSync } from 'node:fs';
import type { Frame } from 'node-av/lib';
import type { StillLayout } from '../../media/image/geometry.js';
import { findSmartCrop } from '../../media/image/smart-crop.js';
import type { ImageResult, StillFormat, StillJob } from '../../pool/protocol.js';
import { failMedia } from '../ffmpeg/av.js';
import { FrameGraph } from '../ffmpeg/filter-graph.js';
import { filterDisplayed } from '../video/displayed-frame.js';
import { withVideoReader } from '../video/shared-readers.js';
import { encodeStill, STILL_COLORS } from './encoder.js';

const ROTATIONS = { 0: [], 90: ['transpose=clock'], 180: ['hflip', 'vflip'], 270: ['transpose=cclock'] } as const;

/** The top left corner of the part that is kept. */
const placeCrop = (frame: Frame, crop: NonNullable<StillLayout['crop']>): { left: number; top: number } => {
  const luma = frame.data?.[0];
  const stride = frame.linesize[0];
  return crop.place === 'smart' && luma !== undefined && stride !== undefined
    ? findSmartCrop({ data: luma, stride, width: frame.width, height: frame.height }, crop)
    : { left: Math.floor((frame.width - crop.width) / 2), top: Math.floor((frame.height - crop.height) / 2) };
};

const describeLayout = (frame: Frame, layout: StillLayout, format: StillFormat): string => {
  const { crop, scaled, canvas, rotate, flipHorizontal, flipVertical } = layout;
  const { scale, work, pixels } = STILL_COLORS[format];
  const corner = crop && placeCrop(frame, crop);
  return [
    ...(crop && corner ? [`crop=${crop.width}:${crop.height}:${corner.left}:${corner.top}:exact=1`] : []),
    `scale=${scaled.width}:${scaled.height}:flags=lanczos+accurate_rnd+full_chroma_int:${scale}`,
    `format=${work}`,
    ...(canvas ? [`pad=${canvas.width}:${canvas.height}:-1:-1:black`] : []),
    ...ROTATIONS[rotate],
    ...(flipHorizontal ? ['hflip'] : []),
    ...(flipVertical ? ['vflip'] : []),
    `format=${pixels}`,
  ].join(',');
};

/**
 * Writes the frame that is displayed at a moment as an image.
 * @throws KinoraError `media_failed`
 */
export const writeStill = (job: StillJob): ImageResult =>
  withVideoReader(job.source, job.streamIndex, job.threads, (reader) => {
    const { layout, format, threads, timeBase } = job;
    let bytes: Buffer | undefined;
    filterDisplayed(reader, job, job, { ...layout.frame, threads }, (frame) => {
      using graph = new FrameGraph(frame, describeLayout(frame, layout, format), { timeBase, threads }, (image) => {
        bytes = encodeStill(image, format);
      });
      graph.push(frame, 0);
      graph.finish();
    });
    if (bytes === undefined) throw failMedia('image', 'no image came out');
    writeFileSync(job.outPath, bytes);
    return { sizeBytes: bytes.length };
  });
