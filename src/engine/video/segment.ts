import { writeFileSync } from 'node:fs';
import type { Frame } from 'node-av/lib';
import { compare } from '../../media/source/rational.js';
import type { VideoSegmentJob, VideoSegmentResult } from '../../pool/protocol.js';
import { cloneFrame, failMedia } from '../ffmpeg/av.js';
import { copySegment } from './copy-segment.js';
import { encodeRange, type FrameRange } from './filter-range.js';
import { FragmentEncoder } from './fragment-encoder.js';
import { FrameFilter } from './frame-filter.js';
import type { SeekPoint, VideoReader } from './reader.js';
import { lendVideoReader } from './shared-readers.js';

/**
 * Makes the segment [startTicks, endTicks) of one rendition. The frames and times do not depend on
 * earlier jobs.
 * @throws KinoraError `media_failed`
 */
export const writeVideoSegment = async (job: VideoSegmentJob): Promise<VideoSegmentResult> =>
  job.rendition.kind === 'copy'
    ? copySegment(job)
    : lendVideoReader(job.source, job.streamIndex, job.threads, (reader) => encodeSegment(job, reader));

/** A last frame that is displayed for longer than this is repeated. */
const HOLD_SECONDS = 0.1;
const LAST_REPEATS = 3;
const LAST_REPEATS_PER_SECOND = 30;

const isHeld = ({ endTicks, lastFrameTicks, timeBase }: VideoSegmentJob): boolean =>
  endTicks - lastFrameTicks > HOLD_SECONDS * timeBase.den;

/**
 * Repeats the last frame every second, so that players can seek there, and three times just before
 * the end. Chromium does not finish a seek before it has three frames or the end of the stream,
 * which hls.js may announce only after the seek.
 */
const heldTicks = (job: VideoSegmentJob): number[] => {
  const { startTicks, endTicks, lastFrameTicks, timeBase, isLast } = job;
  const ticks: number[] = startTicks > lastFrameTicks ? [startTicks] : [];
  const first = Math.max(1, Math.floor((startTicks - lastFrameTicks) / timeBase.den) + 1);
  for (let at = lastFrameTicks + first * timeBase.den; at < endTicks; at += timeBase.den) ticks.push(at);
  // In a coarse time base, the repeats are a tick apart.
  const step = Math.max(timeBase.den / LAST_REPEATS_PER_SECOND, 1);
  for (let left = isLast ? LAST_REPEATS : 0; left > 0; left -= 1) ticks.push(Math.round(endTicks - left * step));
  return ticks.sort((a, b) => a - b);
};

const filterLast = (reader: VideoReader, filter: FrameFilter, pts: number, seekPoint: SeekPoint | undefined): 0 => {
  reader.seek(pts, { wantPrevious: false, seekPoint });
  const last = reader.take() ?? reader.previous;
  if (last) filter.push(last.frame, last.pts);
  filter.flush();
  return 0;
};

const encodeSegment = async (job: VideoSegmentJob, reader: VideoReader): Promise<VideoSegmentResult> => {
  const { startTicks, endTicks, timeBase, originTicks, rendition, threads } = job;
  if (rendition.encoder === undefined) throw failMedia('segment', 'no encoder settings');
  const { width, height, filters, frameRate, encoder: settings } = rendition;
  if (compare(reader.timeBase, timeBase) !== 0) throw failMedia('segment', 'the time base of the stream has changed');
  const toTicks = (pts: number): number => pts * timeBase.num - originTicks;
  const toPts = (ticks: number): number => Math.ceil((ticks + originTicks) / timeBase.num);
  /** The time at which the segment's first frame began. */
  const began = (ticks: number): number => (ticks === 0 ? (job.firstFrameTicks ?? 0) : ticks);

  let shown = 0;
  let lastTicks = Number.NEGATIVE_INFINITY;
  let held: Frame | undefined;
  const encoder = new FragmentEncoder({
    width,
    height,
    frameRate: { num: frameRate.num, den: frameRate.den * rendition.frameStep },
    encoder: settings,
    timescale: timeBase.den,
    reorderTicks: rendition.reorderTicks,
    threads,
    isShort: !job.isLast && endTicks - startTicks < 2 * timeBase.den,
  });
  const emit = (frame: Frame, pts: number): void => {
    const at = toTicks(pts);
    const ticks = at < startTicks && at >= began(startTicks) ? startTicks : at;
    if (ticks < startTicks || ticks >= endTicks || ticks <= lastTicks) return;
    lastTicks = ticks;
    if (isHeld(job)) {
      held?.free();
      held = cloneFrame(frame);
    }
    if (shown % rendition.frameStep === 0) encoder.add(frame, ticks);
    shown += 1;
  };
  const hold = (frame: Frame): void => {
    held?.free();
    held = cloneFrame(frame);
  };
  const rangeOf = (): FrameRange => ({
    fromPts: toPts(began(startTicks)),
    untilPts: toPts(endTicks),
    neighbours: filters.deinterlace,
    seekPoint: job.seekPoint,
    ...(startTicks > 0 && { displayFromPts: toPts(startTicks) }),
  });
  const showsFrames = startTicks <= job.lastFrameTicks;
  const { overlayPaths } = job;
  const filterSettings = { filters, overlayPaths, crop: reader.crop, width, height, timeBase, threads };
  const filter = new FrameFilter(filterSettings, showsFrames ? emit : hold);
  try {
    const frameCount = showsFrames
      ? await encodeRange(reader, filter, rangeOf(), () => encoder.ready())
      : filterLast(reader, filter, toPts(began(job.lastFrameTicks)), job.seekPoint);
    for (const ticks of held ? heldTicks(job) : []) {
      if (ticks > lastTicks) encoder.add(held!, ticks);
      lastTicks = Math.max(lastTicks, ticks);
    }
    if (encoder.frames === 0) throw failMedia('segment', 'no frame could be decoded');
    const { bytes, sizesBytes } = await encoder.finish(job);
    writeFileSync(job.outPath, bytes);
    return { sizeBytes: bytes.length, sampleCount: sizesBytes.length, frameCount };
  } finally {
    held?.free();
    filter.close();
    await encoder.close();
  }
};
