import type { Frame } from 'node-av/lib';
import type { AnimatedJob, ImageResult } from '../pool/protocol.js';
import { AnimationWriter } from './animation-writer.js';
import { cloneFrame } from './av.js';
import { filterRange } from './filter-range.js';
import { PictureFilter } from './picture-filter.js';
import { checkTimeBase, seekShown } from './shown-picture.js';
import { withVideoReader } from './video-reader.js';

/**
 * Writes an endless animation. A picture that is shown for several of its frames is stored once, for as long.
 * @throws KinoraError `media_failed`
 */
export const makeAnimated = (job: AnimatedJob): ImageResult =>
  withVideoReader(job.source, job.streamIndex, job.threads, (reader) => {
    checkTimeBase(reader, job);
    const { timeBase, zeroTicks, picture, width, height, threads, framesPerSecond } = job;
    const startTicks = job.start.ticks;
    const frames = Math.max(1, Math.ceil(((job.endTicks - startTicks) * framesPerSecond) / timeBase.den - 1e-6));
    const writer = new AnimationWriter(job);
    let shown: Frame | undefined;
    let frame = 0;
    const ticksOf = (number: number): number => startTicks + (number * timeBase.den) / framesPerSecond;
    /** Gives the picture shown so far to the frames before `untilTicks`. */
    const show = (untilTicks: number): void => {
      const first = frame;
      while (frame < frames && ticksOf(frame) < untilTicks) frame += 1;
      if (shown && frame > first) writer.add(shown, first);
    };
    const filter = new PictureFilter({ picture, crop: reader.crop, width, height, timeBase, threads }, (next, pts) => {
      // The first picture is shown from the start on, whenever it began.
      if (shown) show(pts * timeBase.num - zeroTicks);
      shown?.free();
      shown = cloneFrame(next);
    });
    try {
      const fromPts = seekShown(reader, job, job.start);
      filterRange(reader, filter, {
        fromPts,
        untilPts: Math.ceil((ticksOf(frames - 1) + 1 + zeroTicks) / timeBase.num),
        neighbours: picture.deinterlace,
        seekPoint: job.start.seekPoint,
      });
      show(Number.POSITIVE_INFINITY);
      return { sizeBytes: writer.finish() };
    } finally {
      shown?.free();
      filter.close();
      writer.close();
    }
  });
