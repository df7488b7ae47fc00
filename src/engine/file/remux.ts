import { statSync } from 'node:fs';
import { AVERROR_EOF } from 'node-av/constants';
import { Dictionary, FormatContext, type Packet, type Stream } from 'node-av/lib';
import type { MediaResults, RemuxJob, RemuxTrack } from '../../pool/protocol.js';
import { check, NO_PTS, newPacket } from '../ffmpeg/av.js';
import { openSource, readOnly, readPacket, streamAt } from '../ffmpeg/open-source.js';
import { codecNameOf } from '../ffmpeg/supported-media.js';
import type { HandlerContext } from '../ipc/serve-jobs.js';

const MAX_READ_ERRORS = 20;
const PROGRESS_PACKETS = 200;

/** A stream that is copied, with its next packet. */
class TrackReader {
  readonly packet: Packet = newPacket();
  readonly stream: Stream;
  /** Time in the written file, in seconds; Infinity at the end. */
  time = Number.NEGATIVE_INFINITY;
  private readonly format: FormatContext;
  private readonly originTicks: bigint;
  private readonly secondsPerTick: number;
  private lastDts: bigint | undefined;

  constructor(private readonly track: RemuxTrack) {
    this.format = openSource(track.source);
    this.stream = streamAt(this.format, track.streamIndex);
    readOnly(this.format, [track.streamIndex]);
    const { num, den } = this.stream.timeBase;
    const { zero } = track;
    this.secondsPerTick = num / den;
    this.originTicks = BigInt(Math.round((zero.num * den) / (zero.den * num)));
  }

  /**
   * The HEVC tag that Apple's players support, unless the file's own tag says that parameter sets
   * are stored among the frames.
   */
  get codecTag(): string | 0 {
    if (codecNameOf(this.stream) !== 'hevc') return 0;
    return this.stream.codecpar.codecTagString === 'hev1' ? 'hev1' : 'hvc1';
  }

  /** The share of the file that has been read. */
  get fraction(): number {
    return Math.max(0, Number(this.packet.pos)) / Math.max(1, statSync(this.track.source.path).size);
  }

  next(): void {
    const { packet } = this;
    packet.unref();
    for (let errors = 0; ; ) {
      const code = readPacket(this.format, packet);
      if (code === AVERROR_EOF || errors > MAX_READ_ERRORS) {
        this.time = Number.POSITIVE_INFINITY;
        return;
      }
      if (code < 0) {
        errors += 1;
        continue;
      }
      if (packet.streamIndex === this.track.streamIndex && this.placeNext()) return;
      packet.unref();
    }
  }

  close(): void {
    this.packet.free();
    this.format.closeInputSync();
  }

  /**
   * Converts the packet's times to the timeline of the file; false when it has no time, such as the
   * rest of a damaged frame.
   */
  private placeNext(): boolean {
    const { packet, lastDts } = this;
    const dts = packet.dts === NO_PTS ? packet.pts : packet.dts;
    if (dts === NO_PTS) return false;
    const decoded = dts - this.originTicks;
    packet.dts = lastDts !== undefined && decoded <= lastDts ? lastDts + 1n : decoded;
    const shown = packet.pts === NO_PTS ? packet.dts : packet.pts - this.originTicks;
    packet.pts = shown;
    if (shown < packet.dts) packet.pts = packet.dts;
    this.lastDts = packet.dts;
    this.time = Number(packet.dts) * this.secondsPerTick;
    return true;
  }
}

/**
 * Copies packets into a plain MP4 with its index first, ordered by time whatever their order in the
 * sources.
 * @throws KinoraError `media_failed`
 */
export const remux = ({ tracks, outPath }: RemuxJob, context: HandlerContext): MediaResults['remux'] => {
  const readers: TrackReader[] = [];
  const output = new FormatContext();
  try {
    for (const track of tracks) readers.push(new TrackReader(track));
    check(output.allocOutputContext2(null, 'mp4', outPath), 'copied file');
    try {
      const streams = readers.map((reader) => addTrack(output, reader));
      check(output.openOutputSync(), 'copied file');
      const options = Dictionary.fromObject({ movflags: '+faststart' });
      check(output.writeHeaderSync(options), 'copied file');
      options.free();
      for (const reader of readers) reader.next();
      for (let packets = 0; ; packets += 1) {
        const [first] = readers.toSorted((a, b) => a.time - b.time);
        if (first === undefined || first.time === Number.POSITIVE_INFINITY) break;
        if (packets % PROGRESS_PACKETS === 0) context.progress(Math.min(first.fraction, 1));
        const stream = streams[readers.indexOf(first)]!;
        first.packet.rescaleTs(first.stream.timeBase, stream.timeBase);
        first.packet.streamIndex = stream.index;
        first.packet.pos = -1n;
        check(output.interleavedWriteFrameSync(first.packet), 'write copied file');
        first.next();
      }
      check(output.writeTrailerSync(), 'write copied file');
    } finally {
      output.closeOutputSync();
      output.freeContext();
    }
  } finally {
    for (const reader of readers) reader.close();
  }
  return { sizeBytes: statSync(outPath).size };
};

const addTrack = (output: FormatContext, { stream: source, codecTag }: TrackReader): Stream => {
  const stream = output.newStream(null);
  check(source.codecpar.copy(stream.codecpar), 'copied track');
  stream.codecpar.codecTag = codecTag;
  stream.timeBase = source.timeBase;
  stream.sampleAspectRatio = source.sampleAspectRatio;
  stream.avgFrameRate = source.avgFrameRate;
  return stream;
};
