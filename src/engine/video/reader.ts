import { statSync } from 'node:fs';
import {
  AV_FRAME_FLAG_KEY,
  AV_PICTURE_TYPE_I,
  AV_PKT_DATA_FRAME_CROPPING,
  AVERROR_EOF,
  AVSEEK_FLAG_BACKWARD,
  AVSEEK_FLAG_BYTE,
} from 'node-av/constants';
import type { CodecContext, FormatContext, Frame, Packet, Stream } from 'node-av/lib';
import type { Rational } from '../../media/source/source-facts.js';
import type { MediaSource } from '../../pool/protocol.js';
import { check, failMedia, isDrained, NO_PTS, newFrame, newPacket } from '../ffmpeg/av.js';
import { openDecoder, openSource, readOnly, readPacket, streamAt } from '../ffmpeg/open-source.js';
import { dropsUndecodable, hasNoTimes } from '../ffmpeg/stream-traits.js';
import { FrameTimes } from './frame-times.js';

/** A decoded frame and its presentation time in stream ticks. The reader owns the frame. */
export interface DecodedFrame {
  readonly frame: Frame;
  readonly pts: number;
}

/**
 * Pixels to cut from each side (clean aperture of MP4 and MOV; the codec's own cropping is already
 * applied).
 */
export interface Crop {
  readonly top: number;
  readonly bottom: number;
  readonly left: number;
  readonly right: number;
}

export interface SeekPoint {
  /** Byte position of a key frame's packet. */
  readonly position: number;
  readonly pts: number;
}

/** Bad packets and frames that are skipped before reading fails. */
const MAX_ERRORS = 100;
/** The number of packets to skip when searching for a key frame. */
const MAX_SKIPPED_PACKETS = 1_000;
/**
 * How much further back each try starts, in seconds or, for byte seeks, in bytes. After the last
 * try the file is read from its start.
 */
const BACK_SECONDS = [0, 2, 6, 18, 54];
/** Halving stops at this distance: reading is then faster than seeking. */
const POSITION_BYTES = 1 << 18;
const BACK_BYTES = [0, 1 << 21, 1 << 23, 1 << 25];

/**
 * Reads the frames of one stream in presentation order from any position: `seek` finds the exact
 * position and `take` advances. The reader keeps the last frame and the next one, so that
 * neighboring ranges can be read without a seek.
 */
export class VideoReader {
  private format!: FormatContext;
  private decoder!: CodecContext;
  private stream!: Stream;
  private readonly packet: Packet = newPacket();
  private ahead = newFrame();
  private aheadPts: number | undefined;
  private behind = newFrame();
  private behindPts: number | undefined;
  /** Nothing has been read since the file was opened. */
  private fresh = true;
  private drained = false;
  private readErrors = 0;
  private skipped = 0;
  /** Time of the key frame from which decoding started. */
  private keyPts: number | undefined;
  /** Reading began at the start of the file. */
  private fromStart = true;
  /** A key frame has been decoded. */
  private started = false;
  private readonly times: FrameTimes;
  /** Packets and frames found damaged since the last seek. */
  errors = 0;
  /** Byte position of the last packet that was read. */
  position = 0;

  constructor(
    private readonly source: MediaSource,
    private readonly streamIndex: number,
    private readonly threads: number,
    private readonly maxErrors = MAX_ERRORS,
    /**
     * The times of the packets are those of decoding. Frames are returned in the order in which
     * they are displayed, so each gets the earliest time that is left. An edit list would only make
     * up for the presentation times that are missing. Only for reading from the start, without
     * `seek`.
     */
    private readonly reorderTimes = false,
  ) {
    this.open();
    this.times = new FrameTimes(this.isAvi, reorderTimes);
  }

  get timeBase(): Rational {
    return { num: this.stream.timeBase.num, den: this.stream.timeBase.den };
  }

  get crop(): Crop | undefined {
    return cropOf(this.stream);
  }

  /** The declared start of the stream, in stream ticks. */
  get startPts(): number {
    return this.stream.startTime === NO_PTS ? 0 : Number(this.stream.startTime);
  }

  /** The last frame that was taken or skipped. */
  get previous(): DecodedFrame | undefined {
    return this.behindPts === undefined ? undefined : { frame: this.behind, pts: this.behindPts };
  }

  /** The frame that `take` will return; undefined at the end. */
  peek(): DecodedFrame | undefined {
    if (this.aheadPts === undefined) this.decode();
    return this.aheadPts === undefined ? undefined : { frame: this.ahead, pts: this.aheadPts };
  }

  /** Returns the next frame, which stays valid until the next call. */
  take(): DecodedFrame | undefined {
    if (this.peek() === undefined) return undefined;
    this.behind.unref();
    [this.ahead, this.behind] = [this.behind, this.ahead];
    this.behindPts = this.aheadPts;
    this.aheadPts = undefined;
    return this.previous;
  }

  /**
   * Moves to the first frame with a time >= `pts`. With `wantPrevious`, the frame before it becomes
   * `previous`, if there is one. Decoding starts at a key frame that is not after the wanted frame:
   * frames that can't be decoded from that key frame (leading frames of an open GOP) are displayed
   * before it. With `tolerance` (stream ticks), a frame that is earlier by at most this much is
   * accepted, which saves decoding the frames between.
   */
  seek(
    pts: number,
    options: { wantPrevious: boolean; seekPoint?: SeekPoint | undefined; tolerance?: number | undefined },
  ): void {
    if (this.behindPts !== undefined && this.behindPts < pts && (this.drained || (this.aheadPts ?? -Infinity) >= pts))
      return;
    const latestStart = options.wantPrevious ? pts - 1 : pts;
    const started = (): boolean => {
      const first = this.peek()?.pts;
      return first !== undefined && first <= latestStart && this.keyPts !== undefined && this.keyPts <= latestStart;
    };
    const { num, den } = this.timeBase;
    const nearStart = ((pts - this.startPts) * num) / den < 1;
    const isFound =
      (nearStart && this.rewind()) ||
      (options.seekPoint !== undefined || this.isMpegStream
        ? this.jumpBack(options.seekPoint?.position ?? this.findPosition(latestStart), started)
        : BACK_SECONDS.some((back) => this.jumpToTime(latestStart - Math.round((back * den) / num)) && started()));
    if (!isFound) this.rewind();
    const first = pts - (options.tolerance ?? 0);
    for (let next = this.peek(); next !== undefined && next.pts < first; next = this.peek()) this.take();
  }

  close(): void {
    this.closeInput();
    this.packet.free();
    this.ahead.free();
    this.behind.free();
  }

  private open(): void {
    this.format = openSource(this.source, { ignoreEditList: this.reorderTimes });
    try {
      this.stream = streamAt(this.format, this.streamIndex);
      readOnly(this.format, [this.streamIndex]);
      // Without times, H.264 does not show how many frames are reordered; a decoder that learns it
      // drops a frame.
      this.decoder = openDecoder(this.stream, this.threads, hasNoTimes(this.format) ? { strict: 1 } : {});
    } catch (error) {
      this.format.closeInputSync();
      throw error;
    }
    this.fresh = true;
  }

  private closeInput(): void {
    this.decoder.freeContext();
    this.format.closeInputSync();
  }

  /** Back to the start of the file. */
  private rewind(): true {
    if (!this.fresh) {
      this.closeInput();
      this.open();
    }
    this.reset();
    this.fromStart = true;
    return true;
  }

  private jumpToTime(pts: number): boolean {
    if (this.format.seekFrameSync(this.streamIndex, BigInt(Math.floor(pts)), AVSEEK_FLAG_BACKWARD) < 0) return false;
    this.fresh = false;
    this.decoder.flushBuffers();
    this.reset();
    return true;
  }

  private jumpToByte(position: number): boolean {
    if (position < 0 || this.format.seekFrameSync(-1, BigInt(position), AVSEEK_FLAG_BYTE) < 0) return false;
    this.fresh = false;
    this.decoder.flushBuffers();
    this.reset();
    return true;
  }

  private jumpBack(position: number, started: () => boolean): boolean {
    return BACK_BYTES.some((back) => this.jumpToByte(position - back) && started());
  }

  /**
   * Finds the byte position in an MPEG stream from which the next key frame is at or before `pts`,
   * by halving. FFmpeg's own seek by time does not finish in streams with few key frames or damaged
   * times.
   */
  private findPosition(pts: number): number {
    let low = 0;
    let high = statSync(this.source.path).size;
    while (high - low > POSITION_BYTES) {
      const middle = Math.floor((low + high) / 2);
      const key = this.jumpToByte(middle) ? this.readKeyPts() : undefined;
      if (key !== undefined && key <= pts) low = middle;
      else high = middle;
    }
    return low;
  }

  /** Returns the time of the next key frame, without decoding. */
  private readKeyPts(): number | undefined {
    for (let read = 0; read < MAX_SKIPPED_PACKETS && readPacket(this.format, this.packet) >= 0; read += 1) {
      const { isKeyframe, streamIndex, pts } = this.packet;
      this.packet.unref();
      if (isKeyframe && streamIndex === this.streamIndex && pts !== NO_PTS) return Number(pts);
    }
    return undefined;
  }

  private get isMpegStream(): boolean {
    return /^mpeg(ts)?$/.test(this.format.iformat?.name ?? '');
  }

  private reset(): void {
    this.ahead.unref();
    this.behind.unref();
    this.aheadPts = undefined;
    this.behindPts = undefined;
    this.keyPts = undefined;
    this.times.reset();
    this.fromStart = false;
    this.started = false;
    this.drained = false;
    this.readErrors = 0;
    this.skipped = 0;
    this.errors = 0;
  }

  private countError(what: string): void {
    if (this.keyPts === undefined && !this.started) return; // decoding may fail before the first key frame
    this.errors += 1;
    if (this.errors > this.maxErrors) throw failMedia('decode', `too many errors, the last: ${what}`);
  }

  /** Fills `ahead`, unless the stream has ended. */
  private decode(): void {
    while (!this.drained) {
      const code = this.decoder.receiveFrameSync(this.ahead);
      if (code >= 0) {
        const pts = this.times.timeOf(this.ahead, this.stream, this.decoder, this.fromStart);
        this.started ||= this.isDecodable(this.ahead, pts);
        if (!this.started) {
          this.ahead.unref();
          continue;
        }
        if (this.ahead.decodeErrorFlags !== 0) this.countError('damaged frame');
        this.aheadPts = pts;
        return;
      }
      if (code === AVERROR_EOF) this.drained = true;
      else if (isDrained(code)) this.feed();
      else this.countError('frame cannot be decoded');
    }
  }

  /**
   * Whether this frame is complete; asked until one is. A file may not mark its first key frame,
   * and frames before any key frame lack their references.
   */
  private isDecodable(frame: Frame, pts: number): boolean {
    if (isIntra(frame) || dropsUndecodable(this.stream)) return true;
    return this.keyPts !== undefined && (this.isAvi || !this.fromStart || pts >= this.keyPts);
  }

  /** Passes one packet, or the end-of-stream signal, to the decoder. */
  private feed(): void {
    this.fresh = false;
    const code = readPacket(this.format, this.packet);
    if (code < 0) {
      // Demuxers report damage once and then continue, or report it forever; a second failure in a
      // row ends the stream.
      if (code !== AVERROR_EOF) {
        this.countError('packet cannot be read');
        this.readErrors += 1;
        if (this.readErrors < 2) return;
      }
      check(this.decoder.sendPacketSync(null), 'drain decoder');
      return;
    }
    this.readErrors = 0;
    const packet = this.packet;
    this.position = Math.max(this.position, Number(packet.pos));
    if (packet.streamIndex === this.streamIndex && this.isUseful(packet)) {
      if (this.keyPts === undefined && (packet.isKeyframe || this.skipped > MAX_SKIPPED_PACKETS)) {
        const time = packet.pts === NO_PTS || this.isAvi ? packet.dts : packet.pts;
        this.keyPts = time === NO_PTS ? Number.POSITIVE_INFINITY : Number(time);
      }
      this.times.noteSent(packet);
      if (this.decoder.sendPacketSync(packet) < 0) this.countError('packet cannot be decoded');
      else this.times.noteAccepted(packet);
    }
    packet.unref();
  }

  /**
   * After a seek, decoding starts at a packet that is marked as a key frame. A file that never
   * marks one is decoded anyway.
   */
  private isUseful(packet: Packet): boolean {
    if (this.keyPts !== undefined || packet.isKeyframe) return true;
    this.skipped += 1;
    return this.fromStart || this.skipped > MAX_SKIPPED_PACKETS;
  }

  private get isAvi(): boolean {
    return this.format.iformat?.name === 'avi';
  }
}

/** Whether a frame is decoded from its own packet alone. */
export const isIntra = (frame: Frame): boolean =>
  (frame.flags & AV_FRAME_FLAG_KEY) !== 0 || frame.pictType === AV_PICTURE_TYPE_I;

/** Reads four 32-bit numbers in host byte order: top, bottom, left, right. */
export const cropOf = (stream: Stream): Crop | undefined => {
  const data = stream.codecpar.getCodedSideData(AV_PKT_DATA_FRAME_CROPPING);
  if (data === null || data.length < 16) return undefined;
  const [top, bottom, left, right] = [0, 4, 8, 12].map((offset) => data.readUInt32LE(offset)) as [
    number,
    number,
    number,
    number,
  ];
  return top + bottom + left + right === 0 ? undefined : { top, bottom, left, right };
};
