import { AV_CODEC_ID_AV1, AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AVMEDIA_TYPE_VIDEO } from 'node-av/constants';
import { Rational as AvRational, type CodecContext, CodecParameters, type Frame, type Packet } from 'node-av/lib';
import type { LiveEncodeJob, LiveSample } from '../../pool/protocol.js';
import { check, failMedia, isDrained, NO_PTS, newFrame, newPacket } from '../ffmpeg/av.js';
import { openDecoder } from '../ffmpeg/open-source.js';

const CODEC_IDS = { avc: AV_CODEC_ID_H264, hevc: AV_CODEC_ID_HEVC, av1: AV_CODEC_ID_AV1 } as const;

/** Damaged samples in a row, after which the stream is not worth another try. */
const MAX_ERRORS = 300;

/** Decodes samples of MP4 without a demuxer. */
export class LiveDecoder {
  private readonly context: CodecContext;
  private readonly packet: Packet = newPacket();
  private readonly frame: Frame = newFrame();
  private errors = 0;
  private sent = 0;
  private decoded = 0;

  /**
   * @param reordered how many samples are decoded before one that is shown earlier: a decoder that
   * only learns it loses a frame
   * @param emit gets the frames in the order in which they are shown; they are valid during the
   * call
   */
  constructor(
    job: Pick<LiveEncodeJob, 'codec' | 'config' | 'timescale' | 'threads'>,
    reordered: number,
    private readonly emit: (frame: Frame, ticks: number) => void,
  ) {
    const codecpar = new CodecParameters();
    codecpar.alloc();
    try {
      codecpar.codecType = AVMEDIA_TYPE_VIDEO;
      codecpar.codecId = CODEC_IDS[job.codec];
      codecpar.extradata = Buffer.from(job.config, 'base64');
      codecpar.videoDelay = reordered;
      const stream = { codecpar, timeBase: new AvRational(1, job.timescale) };
      this.context = openDecoder(stream, job.threads, {}, { isLive: true });
    } finally {
      codecpar.free();
    }
  }

  get frames(): number {
    return this.decoded;
  }

  /** Every sample has become a frame. */
  get isEmpty(): boolean {
    return this.sent === 0;
  }

  decode({ ticks, decodeTicks, isKey }: LiveSample, data: Buffer): void {
    const { packet } = this;
    packet.data = data;
    packet.pts = BigInt(ticks);
    packet.dts = BigInt(decodeTicks);
    packet.isKeyframe = isKey;
    const code = this.context.sendPacketSync(packet);
    packet.unref();
    if (code < 0) this.countError();
    else this.sent += 1;
    this.receive();
  }

  /** Returns all frames that are left. A key frame comes next. */
  drain(): void {
    if (this.context.sendPacketSync(null) >= 0) this.receive();
    this.context.flushBuffers();
    this.sent = 0;
  }

  close(): void {
    this.context.freeContext();
    this.packet.free();
    this.frame.free();
  }

  private receive(): void {
    for (;;) {
      const code = this.context.receiveFrameSync(this.frame);
      if (isDrained(code)) return;
      if (code < 0) {
        this.countError();
        continue;
      }
      this.errors = 0;
      this.sent -= 1;
      this.decoded += 1;
      if (this.frame.pts !== NO_PTS) this.emit(this.frame, Number(this.frame.pts));
      this.frame.unref();
    }
  }

  private countError(): void {
    this.errors += 1;
    if (this.errors > MAX_ERRORS) check(-1, 'decode live video');
  }
}

/** The most samples that are decoded before one that is shown earlier. */
export const countReordered = (samples: readonly LiveSample[]): number =>
  samples.reduce((most, { ticks }, index) => {
    const later = samples.slice(0, index).filter((before) => before.ticks > ticks).length;
    return Math.max(most, later);
  }, 0);

/** The bytes of each sample; throws when the file does not have just these. */
export const splitSamples = (samples: readonly LiveSample[], bytes: Buffer): Buffer[] => {
  let offset = 0;
  const parts = samples.map(({ sizeBytes }) => {
    offset += sizeBytes;
    return bytes.subarray(offset - sizeBytes, offset);
  });
  if (offset !== bytes.length) throw failMedia('read live part', 'the sizes do not add up');
  return parts;
};
