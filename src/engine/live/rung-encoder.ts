import { writeFileSync } from 'node:fs';
import { AV_PICTURE_TYPE_I, AV_PICTURE_TYPE_NONE } from 'node-av/constants';
import type { CodecContext, Frame, Packet } from 'node-av/lib';
import { writeFragment } from '../../media/mp4/cmaf.js';
import { planSampleTimes } from '../../media/plan/sample-times.js';
import type { LiveEncodeJob, LivePartInput, LiveRung } from '../../pool/protocol.js';
import { check, cloneFrame, failMedia, isDrained, newPacket } from '../ffmpeg/av.js';
import { ENCODER_CLOCK, openEncoder } from '../video/fragment-encoder.js';
import { FrameFilter } from '../video/frame-filter.js';

/** A part that is not written yet. */
export interface PlannedPart extends Pick<LivePartInput, 'segment' | 'part' | 'startTicks' | 'endTicks'> {
  readonly outPath: string;
}

export interface WrittenPart {
  readonly segment: number;
  readonly part: number;
  readonly samples: number;
  readonly startsWithKey: boolean;
}

interface EncodedSample {
  readonly ticks: number;
  readonly data: Buffer;
  readonly sync: boolean;
}

/**
 * Encodes one rung: filters decoded frames, encodes them in the order in which they are shown, and
 * writes a fragment for each part. Only the first frame of a segment is a key frame, and the first
 * of all.
 */
export class RungEncoder {
  private readonly filter: FrameFilter;
  private readonly context: CodecContext;
  private readonly packet: Packet = newPacket();
  private readonly parts: PlannedPart[] = [];
  /** Frames that no part has taken yet. */
  private readonly frames: { readonly frame: Frame; readonly ticks: number }[] = [];
  private readonly times: number[] = [];
  private samples: EncodedSample[] = [];
  /** The last frame that was encoded, for a part in which none begins. */
  private last: Frame | undefined;
  private lastClock = -1n;
  /** Frames in the filter. */
  private filtering = 0;
  /** Frames of the current part. */
  private shown = 0;
  private isStopped = false;

  constructor(
    private readonly job: Pick<LiveEncodeJob, 'timescale' | 'frameRate' | 'filters' | 'threads'>,
    private readonly rung: LiveRung,
    private readonly startTicks: number,
    private readonly onWritten: (part: WrittenPart) => void,
  ) {
    const { width, height, encoder, frameStep } = rung;
    const { frameRate, timescale, threads, filters } = job;
    const rate = { num: frameRate.num, den: frameRate.den * frameStep };
    this.context = openEncoder({ width, height, encoder, frameRate: rate, threads, isLive: true });
    const timeBase = { num: 1, den: timescale };
    this.filter = new FrameFilter({ filters, crop: undefined, width, height, timeBase, threads }, (frame, ticks) => {
      this.filtering -= 1;
      if (ticks >= this.startTicks) this.frames.push({ frame: cloneFrame(frame), ticks });
    });
  }

  /** Nothing is left to encode, and nothing follows. */
  get isDone(): boolean {
    return this.isStopped && this.parts.length === 0;
  }

  expect(part: PlannedPart): void {
    this.isStopped = false;
    this.parts.push(part);
  }

  /** No part follows those that are expected. */
  stop(): void {
    this.isStopped = true;
  }

  push(frame: Frame, ticks: number): void {
    // Deinterlacing needs the frame before the first one.
    if (ticks < this.startTicks && !this.job.filters.deinterlace) return;
    this.filtering += 1;
    this.filter.push(frame, ticks);
  }

  /** Makes the filter return what it holds: other frames follow, or none. */
  flush(): void {
    this.filter.flush();
    this.filtering = 0;
  }

  /**
   * Encodes what has arrived.
   * @param isComplete every frame of the expected parts has been pushed
   */
  advance(isComplete: boolean): void {
    for (;;) {
      const part = this.parts[0];
      if (!part) return;
      const next = this.frames[0];
      if (next && next.ticks < part.endTicks) {
        this.frames.shift();
        this.encodeNext(next.frame, next.ticks, part);
      } else if (next || (isComplete && this.filtering === 0)) {
        this.parts.shift();
        this.write(part);
      } else return;
    }
  }

  close(): void {
    for (const { frame } of this.frames.splice(0)) frame.free();
    this.last?.free();
    this.filter.close();
    this.context.freeContext();
    this.packet.free();
  }

  /** Takes over the frame. */
  private encodeNext(frame: Frame, ticks: number, part: PlannedPart): void {
    const isKept = this.shown % this.rung.frameStep === 0;
    this.shown += 1;
    if (isKept) this.encode(frame, Math.max(ticks, part.startTicks), part);
    this.last?.free();
    this.last = frame;
  }

  private encode(frame: Frame, ticks: number, { part }: PlannedPart): void {
    const isFirst = part === 0 && this.samples.length === 0;
    const clock = BigInt(Math.round((ticks * ENCODER_CLOCK) / this.job.timescale));
    this.lastClock = this.lastClock < clock ? clock : this.lastClock + 1n;
    frame.pts = this.lastClock;
    frame.pictType = isFirst ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE;
    this.times.push(ticks);
    check(this.context.sendFrameSync(frame), 'encode live frame');
    this.receive();
  }

  private receive(): void {
    for (;;) {
      const code = this.context.receivePacketSync(this.packet);
      if (isDrained(code)) return;
      check(code, 'encode live frame');
      const { data, isKeyframe } = this.packet;
      const ticks = this.times.shift();
      if (data === null || ticks === undefined) throw failMedia('encode live frame', 'a packet without data or time');
      this.samples.push({ ticks, data: Buffer.from(data), sync: isKeyframe });
      this.packet.unref();
    }
  }

  private write(part: PlannedPart): void {
    const { segment, part: number, startTicks, endTicks, outPath } = part;
    if (this.samples.length === 0 && this.last) this.encode(this.last, startTicks, part);
    if (this.times.length > 0) throw failMedia('encode live frame', 'the encoder keeps frames back');
    const { samples } = this;
    this.samples = [];
    this.shown = 0;
    if (samples.length > 0) {
      const times = planSampleTimes(
        samples.map(({ ticks }) => ticks),
        startTicks,
        endTicks,
      );
      const bytes = writeFragment({
        sequence: segment + 1,
        baseDecodeTicks: startTicks,
        samples: samples.map(({ data, sync }, index) => ({ ...times[index]!, sizeBytes: data.length, sync })),
        data: samples.map(({ data }) => data),
      });
      writeFileSync(outPath, bytes);
    }
    const startsWithKey = samples[0]?.sync === true;
    this.onWritten({ segment, part: number, samples: samples.length, startsWithKey });
  }
}
