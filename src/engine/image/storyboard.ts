import { writeFileSync } from 'node:fs';
import { AV_PIX_FMT_YUV420P } from 'node-av/constants';
import type { Frame } from 'node-av/lib';
import type { ImageResult, StoryboardJob } from '../../pool/protocol.js';
import { check, failMedia, newFrame } from '../ffmpeg/av.js';
import { FrameGraph } from '../ffmpeg/filter-graph.js';
import { checkTimeBase, filterDisplayed } from '../video/displayed-frame.js';
import { VideoReader } from '../video/reader.js';
import { encodeStill, STILL_COLORS } from './encoder.js';

/**
 * Writes the frames of many moments to one sprite sheet.
 * @throws KinoraError `media_failed`
 */
export const writeStoryboard = (job: StoryboardJob): ImageResult => {
  const { tiles, toleranceTicks, columns, width, height, format, threads, timeBase } = job;
  const reader = new VideoReader(job.source, job.streamIndex, threads);
  const sheet = blackSpriteSheet(columns * width, Math.ceil(tiles.length / columns) * height);
  try {
    checkTimeBase(reader, job);
    tiles.forEach((at, number) => {
      const [left, top] = [(number % columns) * width, Math.floor(number / columns) * height];
      filterDisplayed(
        reader,
        job,
        at,
        { width, height, threads, toleranceTicks: at.exact ? 0 : toleranceTicks },
        (frame) => paste(frame, sheet, left, top),
      );
    });
    let bytes: Buffer | undefined;
    const { scale, pixels } = STILL_COLORS[format];
    const chain = `scale=flags=bicubic+accurate_rnd+full_chroma_int:${scale},format=${pixels}`;
    using graph = new FrameGraph(sheet, chain, { timeBase, threads }, (image) => {
      bytes = encodeStill(image, format);
    });
    graph.push(sheet, 0);
    graph.finish();
    if (bytes === undefined) throw failMedia('image', 'no image came out');
    writeFileSync(job.outPath, bytes);
    return { sizeBytes: bytes.length };
  } finally {
    sheet.free();
    reader.close();
  }
};

const blackSpriteSheet = (width: number, height: number): Frame => {
  const sheet = newFrame();
  Object.assign(sheet, { width, height, format: AV_PIX_FMT_YUV420P });
  check(sheet.getBuffer(), 'sheet');
  for (const [plane, value] of [16, 128, 128].entries()) sheet.data![plane]!.fill(value);
  return sheet;
};

/** Tiles have even sizes and positions, so that their color samples align. */
const paste = (tile: Frame, sheet: Frame, left: number, top: number): void => {
  for (const plane of [0, 1, 2]) {
    const shift = plane === 0 ? 0 : 1;
    const from = tile.data![plane]!;
    const to = sheet.data![plane]!;
    const [fromStride, toStride] = [tile.linesize[plane]!, sheet.linesize[plane]!];
    for (let y = 0; y < tile.height >> shift; y += 1) {
      const row = from.subarray(y * fromStride, y * fromStride + (tile.width >> shift));
      to.set(row, ((top >> shift) + y) * toStride + (left >> shift));
    }
  }
};
