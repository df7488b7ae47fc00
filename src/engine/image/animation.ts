import type { Frame } from 'node-av/lib';
import type { AnimatedJob, ImageResult } from '../../pool/protocol.js';
import { cloneFrame, failMedia } from '../ffmpeg/av.js';
import { checkTimeBase, seekDisplayed } from '../video/displayed-frame.js';
import { filterRange } from '../video/filter-range.js';
import { FrameFilter } from '../video/frame-filter.js';
import { withVideoReader } from '../video/shared-readers.js';
import { AnimationWriter } from './animation-writer.js';

/**
 * Writes an endless animation. Each of its frames is the one that the source displays at that time.
 * @throws KinoraError `media_failed`
 */
export const writeAnimated = (job: AnimatedJob): ImageResult =>
  withVideoReader(job.source, job.streamIndex, job.threads, (reader) => {
    checkTimeBase(reader, job);
    const { timeBase, originTicks, filters, width, height, threads, framesPerSecond } = job;
    const startTicks = job.start.ticks;
    const frames = Math.max(1, Math.ceil(((job.endTicks - startTicks) * framesPerSecond) / timeBase.den - 1e-6));
    const writer = new AnimationWriter(job);
    let displayed: Frame | undefined;
    let frame = 0;
    const ticksOf = (number: number): number => startTicks + (number * timeBase.den) / framesPerSecond;
    /** Uses the currently displayed frame for output frames before `untilTicks`. */
    const show = (image: Frame, untilTicks: number): void => {
      for (; frame < frames && ticksOf(frame) < untilTicks; frame += 1) writer.add(image, frame);
    };
    const filter = new FrameFilter(
      { filters, overlayPaths: job.overlayPaths, crop: reader.crop, width, height, timeBase, threads },
      (next, pts) => {
        // The first frame is displayed from the start, whenever it began.
        if (displayed) show(displayed, pts * timeBase.num - originTicks);
        displayed?.free();
        displayed = cloneFrame(next);
      },
    );
    try {
      const fromPts = seekDisplayed(reader, job, job.start);
      filterRange(reader, filter, {
        fromPts,
        untilPts: Math.ceil((ticksOf(frames - 1) + 1 + originTicks) / timeBase.num),
        neighbours: filters.deinterlace,
        seekPoint: job.start.seekPoint,
      });
      if (!displayed) throw failMedia('animation', 'no frame could be decoded');
      show(displayed, Number.POSITIVE_INFINITY);
      return { sizeBytes: writer.finish() };
    } finally {
      displayed?.free();
      filter.close();
      writer.close();
    }
  });
