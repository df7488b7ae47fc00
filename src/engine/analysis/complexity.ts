import type { RateSample, SamplePosition } from '../../media/plan/bitrate-scale.js';
import type { ComplexityJob, ComplexityResult } from '../../pool/protocol.js';
import { failMedia } from '../ffmpeg/av.js';
import { filterRange } from '../video/filter-range.js';
import { FragmentEncoder } from '../video/fragment-encoder.js';
import { FrameFilter } from '../video/frame-filter.js';
import { type VideoReader, withVideoReader } from '../video/reader.js';

/** The longest sample: one second or 30 frames, whichever is shorter. */
const SAMPLE_SECONDS = 1;
const SAMPLE_FRAMES = 30;
const THREADS = 1;

/**
 * Encodes up to a second from each position at a constant quality.
 * @throws KinoraError `media_failed`
 */
export const measureComplexity = (job: ComplexityJob): ComplexityResult =>
  withVideoReader(job.source, job.streamIndex, THREADS, (reader) => ({
    samples: job.positions.map((position) => encodeSample(job, reader, position)),
  }));

const encodeSample = (job: ComplexityJob, reader: VideoReader, samplePosition: SamplePosition): RateSample => {
  const { filters, width, height, timeBase, frameRate } = job;
  const fromPts = samplePosition.pts;
  const seconds = Math.min(SAMPLE_SECONDS, (SAMPLE_FRAMES * frameRate.den) / Math.max(frameRate.num, 1));
  const untilPts = fromPts + Math.max(Math.round((seconds * timeBase.den) / timeBase.num), 1);
  const encoder = new FragmentEncoder({
    width,
    height,
    frameRate,
    encoder: job.encoder,
    timescale: timeBase.den,
    threads: THREADS,
  });
  let firstPts: number | undefined;
  const settings = { filters, crop: reader.crop, width, height, timeBase, threads: THREADS };
  const filter = new FrameFilter(settings, (frame, pts) => {
    if (pts < fromPts || pts >= untilPts) return;
    firstPts ??= pts;
    encoder.add(frame, (pts - firstPts) * timeBase.num);
  });
  try {
    const { position } = samplePosition;
    const seekPoint = position === undefined ? undefined : { pts: fromPts, position };
    filterRange(reader, filter, { fromPts, untilPts, neighbours: filters.deinterlace, seekPoint });
    if (firstPts === undefined) throw failMedia('sample', 'no frame could be decoded');
    const endTicks = ((reader.peek()?.pts ?? untilPts) - firstPts) * timeBase.num;
    const [keyBytes = 0, ...others] = encoder.finish({ sequence: 1, startTicks: 0, endTicks }).sizesBytes;
    const otherBytes = others.reduce((sum, size) => sum + size, 0);
    return { seconds: endTicks / timeBase.den, keyBytes, otherBytes };
  } finally {
    filter.close();
    encoder.close();
  }
};
