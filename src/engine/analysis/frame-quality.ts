import type { Frame } from 'node-av/lib';
import { type LumaPlane, measureFrame, type TimedQuality } from '../../media/image/frame-quality.js';
import type { FrameQualityJob, FrameQualityResult } from '../../pool/protocol.js';
import { failMedia } from '../ffmpeg/av.js';
import { checkTimeBase, filterDisplayed } from '../video/displayed-frame.js';
import { withVideoReader } from '../video/shared-readers.js';

/**
 * Measures the frames that are displayed at the given moments.
 * @throws KinoraError `media_failed`
 */
export const measureFrames = (job: FrameQualityJob): FrameQualityResult =>
  withVideoReader(job.source, job.streamIndex, job.threads, (reader) => {
    checkTimeBase(reader, job);
    const { frames, toleranceTicks, width, height, threads, timeBase, originTicks } = job;
    const qualities: TimedQuality[] = [];
    for (const at of frames) {
      filterDisplayed(reader, job, at, { width, height, threads, toleranceTicks }, (frame, pts) => {
        const ticks = Math.max(pts * timeBase.num - originTicks, 0);
        qualities.push({ ticks, ...measureFrame(planeOf(frame, 0), [planeOf(frame, 1), planeOf(frame, 2)]) });
      });
    }
    return { frames: qualities };
  });

const planeOf = (frame: Frame, plane: number): LumaPlane => {
  const [data, stride] = [frame.data?.[plane], frame.linesize[plane]];
  if (data === undefined || stride === undefined) throw failMedia('frames', 'a frame without samples');
  const shift = plane === 0 ? 0 : 1;
  return { data, stride, width: frame.width >> shift, height: frame.height >> shift };
};
