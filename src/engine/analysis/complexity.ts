import type { RateSample, SamplePosition } from '../../media/plan/bitrate-scale.js';
import type { ComplexityJob, ComplexityResult } from '../../pool/protocol.js';
import { failMedia } from '../ffmpeg/av.js';
import { encodeRange } from '../video/filter-range.js';
import { FragmentEncoder } from '../video/fragment-encoder.js';
import { FrameFilter } from '../video/frame-filter.js';
import type { VideoReader } from '../video/reader.js';
import { lendVideoReader } from '../video/shared-readers.js';

/** The longest sample: one second or 30 frames, whichever is shorter. */
const SAMPLE_SECONDS = 1;
const SAMPLE_FRAMES = 30;
const THREADS = 1;

/**
 * Encodes up to a second from each position at a constant quality.
 * @throws KinoraError `media_failed`
 */
export const measureComplexity = (job: ComplexityJob): Promise<ComplexityResult> =>
  lendVideoReader(job.source, job.streamIndex, THREADS, async (reader) => {
    const samples: RateSample[] = [];
    for (const position of job.positions) samples.push(await encodeSample(job, reader, position));
    return { samples };
  });

const encodeSample = async (
  job: ComplexityJob,
  reader: VideoReader,
  samplePosition: SamplePosition,
): Promise<RateSample> => {
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
    const range = { fromPts, untilPts, neighbours: filters.deinterlace, seekPoint };
    await encodeRange(reader, filter, range, () => encoder.ready());
    if (firstPts === undefined) throw failMedia('sample', 'no frame could be decoded');
    const endTicks = ((reader.peek()?.pts ?? untilPts) - firstPts) * timeBase.num;
    const { sizesBytes } = await encoder.finish({ sequence: 1, startTicks: 0, endTicks });
    const [keyBytes = 0, ...others] = sizesBytes;
    const otherBytes = others.reduce((sum, size) => sum + size, 0);
    return { seconds: endTicks / timeBase.den, keyBytes, otherBytes };
  } finally {
    filter.close();
    await encoder.close();
  }
};
