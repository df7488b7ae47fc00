import { statSync, writeFileSync } from 'node:fs';
import { AV_PKT_DATA_SKIP_SAMPLES, AV_PKT_FLAG_CORRUPT, AV_PKT_FLAG_DISCARD, AVERROR_EOF } from 'node-av/constants';
import type { FormatContext, Packet, Stream } from 'node-av/lib';
import { isKinoraError } from '../../lib/errors.js';
import { isMovFormat, isMpegStreamFormat } from '../../media/source/frames.js';
import { MAX_STEP_SECONDS, repairTimestamps } from '../../media/source/repair-timestamps.js';
import type { SourceIndex, StreamIndex } from '../../media/source/source-index.js';
import { encodeSourceIndex } from '../../media/source/source-index-codec.js';
import type { IndexJob, MediaResults } from '../../pool/protocol.js';
import { failMedia, NO_PTS, newPacket } from '../ffmpeg/av.js';
import { openSource, readOnly, readPacket, streamAt } from '../ffmpeg/open-source.js';
import type { HandlerContext } from '../ipc/serve-jobs.js';

/** After this many read errors, the rest of the file is ignored. */
const MAX_READ_ERRORS = 20;
const PROGRESS_PACKETS = 2_000;

/** Reads the packets of the chosen streams once, without decoding. */
export const indexSource = (job: IndexJob, context: HandlerContext): MediaResults['index'] => {
  if (job.source.staged && !job.isPrefix)
    throw failMedia('index', 'a part of the file does not say where every packet is');
  const sizeBytes = Math.max(statSync(job.source.path).size, 1);
  const format = openSource(job.source);
  try {
    using packet = newPacket();
    const formatName = format.iformat?.name ?? '';
    const column = (index: number | undefined): StreamColumns | undefined =>
      index === undefined ? undefined : new StreamColumns(streamAt(format, index), formatName);
    const video = column(job.videoStreamIndex);
    const audio = column(job.audioStreamIndex);
    readOnly(
      format,
      [job.videoStreamIndex, job.audioStreamIndex].filter((index) => index !== undefined),
    );
    const endBytes = job.isPrefix ? job.source.staged?.ranges.at(-1)?.end : undefined;
    let errors = 0;
    for (let packets = 1; ; packets += 1) {
      const code = endBytes === undefined ? readPacket(format, packet) : readPresent(format, packet, endBytes);
      if (code === AVERROR_EOF) break;
      if (code < 0) {
        errors += 1;
        if (errors > MAX_READ_ERRORS) break;
        continue;
      }
      if (packet.streamIndex === job.videoStreamIndex) video?.add(packet);
      else if (packet.streamIndex === job.audioStreamIndex) audio?.add(packet);
      if (packets % PROGRESS_PACKETS === 0 && packet.pos > 0n)
        context.progress(Math.min(Number(packet.pos) / sizeBytes, 1));
      packet.unref();
    }
    const index: SourceIndex = {
      ...(video && { video: video.finish() }),
      ...(audio && { audio: audio.finish() }),
      discontinuous:
        errors > 0 || video?.broken === true || video?.hasWrongTimes() === true || audio?.hasWrongTimes() === true,
    };
    if (job.unmarkedStart && index.video) index.video.key[0] = 1;
    writeFileSync(job.outPath, encodeSourceIndex(index));
    return { packets: (index.video?.pts.length ?? 0) + (index.audio?.pts.length ?? 0) };
  } finally {
    format.closeInputSync();
  }
};

/**
 * Reads the next packet of the first `endBytes` bytes. Packets that the demuxer ends there may be
 * cut off.
 */
const readPresent = (format: FormatContext, packet: Packet, endBytes: number): number => {
  try {
    const code = readPacket(format, packet);
    return Number(format.pbBytes) >= endBytes ? AVERROR_EOF : code;
  } catch (error) {
    if (isKinoraError(error, 'range_missing')) return AVERROR_EOF;
    throw error;
  }
};

/** Collects the packets of a stream. */
export class StreamColumns {
  private readonly pts: number[] = [];
  private readonly key: number[] = [];
  private readonly size: number[] = [];
  private readonly position: number[] = [];
  private latest = Number.NEGATIVE_INFINITY;
  private lastDuration = 0;
  private lastDts: number | undefined;
  private readonly isAvi: boolean;
  private readonly ticksPerSecond: number;
  /** The times of MPEG streams are often wrong, so every packet gets an entry here. */
  private readonly mpegTimes: { pts: number[]; dts: number[] } | undefined;
  /** Ticks per audio sample; 0 for frames. */
  private readonly sampleTicks: number;
  /** Priming that the next packets contain, in ticks. */
  private primingTicks = 0;
  private readonly isMov: boolean;
  /** A packet was left out because the edit list ends before it. */
  private hidden = false;
  private hidesReferences = false;
  /** Times go back or jump, or packets are damaged. */
  broken = false;

  constructor(stream: Stream, formatName: string) {
    const { num, den } = stream.timeBase;
    const { sampleRate } = stream.codecpar;
    this.sampleTicks = sampleRate > 0 ? den / (num * sampleRate) : 0;
    this.isMov = isMovFormat(formatName);
    this.isAvi = formatName === 'avi';
    this.ticksPerSecond = den / num;
    if (isMpegStreamFormat(formatName)) this.mpegTimes = { pts: [], dts: [] };
  }

  add(packet: Packet): void {
    const dts = packet.dts === NO_PTS ? undefined : Number(packet.dts);
    if (dts !== undefined) {
      const maxStep = this.mpegTimes ? MAX_STEP_SECONDS * this.ticksPerSecond : Number.POSITIVE_INFINITY;
      if (this.lastDts !== undefined && (dts < this.lastDts || dts - this.lastDts > maxStep)) this.broken = true;
      this.lastDts = dts;
    }
    this.mpegTimes?.dts.push(dts ?? Number.NaN);
    this.mpegTimes?.pts.push(packet.pts === NO_PTS ? Number.NaN : Number(packet.pts));
    if ((packet.flags & AV_PKT_FLAG_CORRUPT) !== 0) this.broken = true;
    // AVI has decode times only. The frames of a stream use the same times in a different order.
    const time = this.isAvi ? packet.dts : packet.pts;
    // The second field of a frame has no time of its own.
    if (time === NO_PTS) return;
    const duration = Number(packet.duration);
    const skipped = this.skippedTicks(packet, Number(time), duration);
    // A packet that contains only priming or padding is not presented.
    if (skipped.start + skipped.end > 0 && skipped.start + skipped.end >= duration) return;
    const pts = Number(time) + Math.round(skipped.start);
    // What the edit list cuts at the end is never displayed; what it cuts at the start is needed
    // for decoding the rest.
    if ((packet.flags & AV_PKT_FLAG_DISCARD) !== 0 && pts >= 0) {
      this.hidden = true;
      return;
    }
    this.hidesReferences ||= this.hidden;
    this.pts.push(pts);
    this.key.push(packet.isKeyframe ? 1 : 0);
    this.size.push(packet.size);
    this.position.push(Number(packet.pos));
    if (pts < this.latest) return;
    this.lastDuration = duration - Math.round(skipped.start + skipped.end);
    this.latest = pts;
  }

  /**
   * What decoders drop from an audio packet: priming and padding, which only the container
   * declares.
   */
  private skippedTicks(packet: Packet, time: number, durationTicks: number): { start: number; end: number } {
    const skip = this.sampleTicks > 0 ? packet.getSideData(AV_PKT_DATA_SKIP_SAMPLES) : null;
    const [priming, padding] = skip && skip.length >= 8 ? [skip.readUInt32LE(0), skip.readUInt32LE(4)] : [0, 0];
    // An edit list of MP4 already moves the priming below zero, and cuts the padding by time.
    if (!this.isMov || time >= 0) this.primingTicks += priming * this.sampleTicks;
    const start = durationTicks > 0 ? Math.min(this.primingTicks, durationTicks) : this.primingTicks;
    this.primingTicks -= start;
    return { start, end: this.isMov ? 0 : padding * this.sampleTicks };
  }

  hasWrongTimes(): boolean {
    return this.mpegTimes !== undefined && repairTimestamps(this.mpegTimes, this.ticksPerSecond).wrong > 0;
  }

  finish(): StreamIndex {
    const sorted = Float64Array.from(this.pts).sort();
    const lastStep = sorted.length > 1 ? sorted.at(-1)! - sorted.at(-2)! : 1;
    return {
      pts: Float64Array.from(this.pts),
      key: Uint8Array.from(this.key),
      size: Uint32Array.from(this.size),
      position: Float64Array.from(this.position),
      lastDuration: Math.max(this.lastDuration > 0 ? this.lastDuration : lastStep, 1),
      ...(this.hidesReferences && { hidesReferences: true }),
    };
  }
}
