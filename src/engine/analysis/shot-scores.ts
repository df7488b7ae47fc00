import type { Frame } from 'node-av/lib';
import { describeSmallFrame, SMALL_BYTES, SMALL_HEIGHT, SMALL_WIDTH } from '../../media/shots/frame-difference.js';
import { type ShotScores, scoreFrames, type TimedFrame } from '../../media/shots/scores.js';
import type { ShotScoresJob } from '../../pool/protocol.js';
import { failMedia } from '../ffmpeg/av.js';
import type { HandlerContext } from '../ipc/serve-jobs.js';
import { checkTimeBase } from '../video/displayed-frame.js';
import { FrameFilter } from '../video/frame-filter.js';
import { withVideoReader } from '../video/shared-readers.js';

const PROGRESS_FRAMES = 50;

/**
 * Scores every frame in a part of the source by comparing small copies of it and its neighbors.
 * @throws KinoraError `media_failed`
 */
export const scoreShots = (job: ShotScoresJob, context: HandlerContext): ShotScores =>
  withVideoReader(job.source, job.streamIndex, job.threads, (reader) => {
    checkTimeBase(reader, job);
    const { timeBase, originTicks, threads, startTicks, endTicks, from, untilTicks } = job;
    const frames: TimedFrame[] = [];
    // Rotation and overlays do not affect a comparison between neighbors.
    const filters = {
      ...job.filters,
      deinterlace: false,
      rotation: 0,
      flipHorizontal: false,
      testMark: false,
    } as const;
    const { toneMap: _toneMap, overlays: _overlays, ...plain } = filters;
    const size = { width: SMALL_WIDTH, height: SMALL_HEIGHT };
    const settings = { filters: plain, crop: reader.crop, ...size, timeBase, threads };
    const filter = new FrameFilter(settings, (frame, pts) => {
      const ticks = pts * timeBase.num - originTicks;
      frames.push({ ticks, frame: describeSmallFrame(copySamples(frame)) });
    });
    try {
      const ptsAt = (ticks: number): number => Math.ceil((ticks + originTicks) / timeBase.num);
      reader.seek(ptsAt(from.ticks), { wantPrevious: false, seekPoint: from.seekPoint });
      const until = ptsAt(untilTicks);
      for (let next = reader.peek(); next !== undefined && next.pts < until; next = reader.peek()) {
        reader.take();
        filter.push(next.frame, next.pts);
        const done = (next.pts * timeBase.num - originTicks - from.ticks) / (untilTicks - from.ticks);
        if (frames.length % PROGRESS_FRAMES === 0) context.progress(Math.min(Math.max(done, 0), 1));
      }
      filter.flush();
    } finally {
      filter.close();
    }
    return scoreFrames(frames, { startTicks, endTicks, timescale: timeBase.den });
  });

/** Joins the planes without the padding between their rows. */
const copySamples = (frame: Frame): Uint8Array => {
  const samples = new Uint8Array(SMALL_BYTES);
  let at = 0;
  for (const plane of [0, 1, 2]) {
    const shift = plane === 0 ? 0 : 1;
    const [data, stride] = [frame.data?.[plane], frame.linesize[plane]];
    if (data === undefined || stride === undefined) throw failMedia('shots', 'a frame without samples');
    for (let y = 0; y < SMALL_HEIGHT >> shift; y += 1) {
      samples.set(data.subarray(y * stride, y * stride + (SMALL_WIDTH >> shift)), at);
      at += SMALL_WIDTH >> shift;
    }
  }
  return samples;
};
