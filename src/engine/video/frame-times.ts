import type { CodecContext, Frame, Packet, Stream } from 'node-av/lib';
import { NO_PTS } from '../ffmpeg/av.js';

/** A shorter duration, which is no frame's, is not believed. */
const MAX_FRAME_RATE = 1000;

/** Finds the presentation times of decoded frames, in stream ticks, from their packets. */
export class FrameTimes {
  /** Times of the packets that were decoded but not returned, ascending; see `reorderTimes`. */
  private readonly packetTimes: number[] = [];
  /** In AVI: the decode times of the last packets, from that of the last returned frame on. */
  private decodeTimes: number[] = [];
  private lastPts: number | undefined;
  private lastDelta = 1;

  constructor(
    private readonly isAvi: boolean,
    /** Packets have decode times only: each frame gets the earliest time that is left. */
    private readonly reorderTimes: boolean,
  ) {}

  /** After a seek. The last distance of two frames still holds. */
  reset(): void {
    this.lastPts = undefined;
    this.decodeTimes = [];
  }

  /** A packet is sent to the decoder. */
  noteSent({ dts }: Packet): void {
    if (this.isAvi && dts !== NO_PTS) this.decodeTimes.push(Number(dts));
  }

  /** The decoder has accepted a packet. */
  noteAccepted({ pts }: Packet): void {
    if (!this.reorderTimes || pts === NO_PTS) return;
    this.packetTimes.push(Number(pts));
    this.packetTimes.sort((a, b) => a - b);
  }

  /** `fromStart`: reading began at the start of the file. */
  timeOf(frame: Frame, stream: Stream, decoder: CodecContext, fromStart: boolean): number {
    const reordered = this.packetTimes.shift();
    if (reordered !== undefined) return reordered;
    const time = this.isAvi ? this.aviTimeOf(frame, decoder) : frame.bestEffortTimestamp;
    const duration = Number(frame.duration);
    const { num, den } = stream.timeBase;
    // Without a rate in a raw stream, FFmpeg reports a tick after the frames that it has probed.
    const step = duration * num * MAX_FRAME_RATE >= den ? duration : this.lastDelta;
    // The only frame after a seek, returned at the end of the file: learning its time requires a
    // seek further back.
    if (time === NO_PTS && this.lastPts === undefined && !fromStart) return Number.POSITIVE_INFINITY;
    const pts = time === NO_PTS ? (this.lastPts ?? -step) + step : Number(time);
    if (this.lastPts !== undefined && pts > this.lastPts) this.lastDelta = pts - this.lastPts;
    this.lastPts = pts;
    return pts;
  }

  /**
   * AVI stores no presentation times: the frames use the decode times in order, and the decoder
   * returns a frame `hasBFrames` packets after its position. How many ticks a packet takes depends
   * on the file.
   */
  private aviTimeOf(frame: Frame, decoder: CodecContext): number | typeof NO_PTS {
    const last = this.lastPts;
    if (frame.pktDts === NO_PTS) {
      // At the end of the file no packet follows the frame.
      const next = last === undefined ? undefined : this.decodeTimes.find((time) => time > last);
      return next ?? NO_PTS;
    }
    const dts = Number(frame.pktDts);
    const index = this.decodeTimes.indexOf(dts) - decoder.hasBFrames;
    if (index > 0) this.decodeTimes.splice(0, index);
    return index >= 0 ? this.decodeTimes[0]! : dts - decoder.hasBFrames;
  }
}
