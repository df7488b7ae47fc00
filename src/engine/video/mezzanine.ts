import { closeSync, openSync, statSync, writeSync } from 'node:fs';
import { writeVideoInit } from '../../media/mp4/cmaf.js';
import type { IndexedFragment } from '../../media/mp4/segment-index.js';
import type { MezzanineJob, MezzanineResult } from '../../pool/protocol.js';
import { failMedia } from '../ffmpeg/av.js';
import type { HandlerContext } from '../ipc/serve-jobs.js';
import { encodeRange } from './filter-range.js';
import { FragmentEncoder, type FragmentEncoderSettings, readEncoderConfig } from './fragment-encoder.js';
import { FrameFilter } from './frame-filter.js';
import { VideoReader } from './reader.js';

const FRAGMENT_SECONDS = 2;
/**
 * Without B-frames there are no negative composition offsets. FFmpeg would shift all times of the
 * file by the largest offset so far.
 */
const ENCODER = { preset: 'veryfast', crf: 16, bFrames: 0 } as const;
/**
 * A smaller jump back is a wrong time stamp of one frame; a larger one is another recording that
 * starts.
 */
const RESTART_SECONDS = 1;
const PROGRESS_FRAMES = 50;

/** Writes one chunk of a mezzanine; see `MezzanineJob`. Damaged frames are left out and counted. */
export const encodeMezzanine = async (job: MezzanineJob, context: HandlerContext): Promise<MezzanineResult> => {
  const reader = new VideoReader(job.source, job.streamIndex, job.threads, Number.POSITIVE_INFINITY, job.reorderTimes);
  try {
    const file = openSync(job.outPath, 'w');
    try {
      return await encodeChunk(job, reader, file, context);
    } finally {
      closeSync(file);
    }
  } finally {
    reader.close();
  }
};

const encodeChunk = async (
  job: MezzanineJob,
  reader: VideoReader,
  file: number,
  context: HandlerContext,
): Promise<MezzanineResult> => {
  const { timeBase, width, height, threads } = job;
  const writer = new ChunkWriter(file, job);
  const settings = { filters: job.filters, crop: reader.crop, width, height, timeBase, threads };
  const until = job.untilPts ?? Number.POSITIVE_INFINITY;
  const filter = new FrameFilter(settings, (frame, pts) => {
    if (pts >= (job.fromPts ?? 0) && pts < until) writer.add(frame, pts * timeBase.num);
  });
  const clock = new ForwardClock(RESTART_SECONDS * (timeBase.den / timeBase.num));
  const progress = progressOf(job, reader, context);
  let frames = 0;
  try {
    const range = {
      ...(job.fromPts !== undefined && { fromPts: job.fromPts }),
      untilPts: until,
      neighbours: job.filters.deinterlace,
    };
    let read = 0;
    const timeOf = (pts: number, following: number | undefined): number => {
      read += 1;
      if (read % PROGRESS_FRAMES === 0) progress(pts);
      return clock.advance(pts, following);
    };
    frames = await encodeRange(reader, filter, range, () => writer.ready(), timeOf);
    await writer.finish(job);
  } finally {
    filter.close();
    await writer.close();
  }
  if (frames === 0) throw failMedia('mezzanine', 'no frame could be decoded');
  return { frames, decodeErrors: reader.errors, init: writer.init, fragments: writer.fragments };
};

/** The share of the chunk's time, or of the file's bytes when the end is not known. */
const progressOf = (job: MezzanineJob, reader: VideoReader, context: HandlerContext): ((pts: number) => void) => {
  const { fromPts = reader.startPts, untilPts } = job;
  const sizeBytes = statSync(job.source.path).size;
  return (pts) => {
    const fraction = untilPts === undefined ? reader.position / sizeBytes : (pts - fromPts) / (untilPts - fromPts);
    context.progress(Math.min(Math.max(fraction, 0), 1));
  };
};

/**
 * Makes times increase: recordings that start again continue where the previous one ended, and a
 * single wrong time is moved between its neighbors.
 */
class ForwardClock {
  private last = Number.NEGATIVE_INFINITY;
  private shift = 0;
  private step = 1;

  constructor(private readonly restartTicks: number) {}

  /** @param following time of the next frame, undefined for the last one */
  advance(pts: number, following: number | undefined): number {
    const next = following === undefined ? Number.NEGATIVE_INFINITY : following + this.shift;
    let time = pts + this.shift;
    const isOut = time <= this.last || time >= next;
    if (next > this.last && isOut && Number.isFinite(this.last)) {
      // Its neighbors are in order, so only this time is wrong.
      time = Math.max(Math.round((this.last + next) / 2), this.last + 1);
    } else if (time <= this.last) {
      if (this.last - time >= this.restartTicks) this.shift += this.last + this.step - time;
      time = Math.max(pts + this.shift, this.last + 1);
    } else if (this.last >= 0) this.step = time - this.last;
    this.last = time;
    return time;
  }
}

/**
 * Cuts the frames into fragments of about two seconds, each with its own encoder, and writes them
 * one by one.
 */
class ChunkWriter {
  readonly fragments: IndexedFragment[] = [];
  /** In base64. */
  readonly init: string;
  private readonly settings: FragmentEncoderSettings;
  private encoder: FragmentEncoder | undefined;
  /** Fragments without another frame, in order; `ready` writes them. */
  private readonly ended: {
    readonly encoder: FragmentEncoder;
    readonly startTicks: number;
    readonly endTicks: number;
  }[] = [];
  private startTicks = 0;
  private lastTicks = 0;
  /**
   * How long the last frame is displayed, in ticks: as long as the one before, or as the frame rate
   * says.
   */
  private step: number;
  private sequence: number;

  constructor(
    private readonly file: number,
    job: MezzanineJob,
  ) {
    const { width, height, frameRate, threads, timeBase } = job;
    this.settings = {
      width,
      height,
      frameRate,
      encoder: ENCODER,
      timescale: timeBase.den,
      threads,
    };
    this.step = frameRate.num > 0 ? Math.max(Math.round((timeBase.den * frameRate.den) / frameRate.num), 1) : 1;
    this.sequence = job.firstSequence;
    const avcc = readEncoderConfig(this.settings);
    const init = writeVideoInit({ timescale: timeBase.den, width, height, avcc, color: 'bt709' });
    this.init = Buffer.from(init).toString('base64');
  }

  add(frame: Parameters<FragmentEncoder['add']>[0], ticks: number): void {
    if (ticks < 0) return;
    if (this.encoder && ticks - this.startTicks >= FRAGMENT_SECONDS * this.settings.timescale) this.endFragment(ticks);
    if (this.encoder === undefined) {
      this.encoder = new FragmentEncoder(this.settings);
      this.startTicks = ticks;
    } else this.step = ticks - this.lastTicks;
    this.encoder.add(frame, ticks);
    this.lastTicks = ticks;
  }

  /** Writes the fragments that have ended and resolves when there is room for another frame. */
  async ready(): Promise<void> {
    for (let next = this.ended[0]; next; next = this.ended[0]) {
      const { encoder, startTicks, endTicks } = next;
      const { bytes } = await encoder.finish({ sequence: this.sequence, startTicks, endTicks });
      writeSync(this.file, bytes);
      this.fragments.push({ startTicks, endTicks, sizeBytes: bytes.length });
      this.sequence += 1;
      await encoder.close();
      this.ended.shift();
    }
    await this.encoder?.ready();
  }

  async finish({ untilPts, lastDuration, timeBase: { num } }: MezzanineJob): Promise<void> {
    const lastTicks = lastDuration === undefined ? this.step : lastDuration * num;
    this.endFragment(untilPts === undefined ? this.lastTicks + lastTicks : untilPts * num);
    await this.ready();
  }

  async close(): Promise<void> {
    for (const { encoder } of this.ended.splice(0)) await encoder.close();
    await this.encoder?.close();
    this.encoder = undefined;
  }

  private endFragment(endTicks: number): void {
    if (this.encoder === undefined) return;
    this.ended.push({ encoder: this.encoder, startTicks: this.startTicks, endTicks });
    this.encoder = undefined;
  }
}
