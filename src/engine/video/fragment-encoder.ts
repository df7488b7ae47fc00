import { existsSync, readFileSync } from 'node:fs';
import {
  AV_CODEC_FLAG_GLOBAL_HEADER,
  AV_PICTURE_TYPE_NONE,
  AV_PICTURE_TYPE_P,
  AV_PIX_FMT_YUV420P,
  AVCOL_PRI_BT709,
  AVCOL_RANGE_MPEG,
  AVCOL_SPC_BT709,
  AVCOL_TRC_BT709,
  FF_ENCODER_LIBX264,
} from 'node-av/constants';
import { Rational as AvRational, Codec, CodecContext, type Frame, type Packet } from 'node-av/lib';
import { withoutTemporalDelimiters } from '../../media/codecs/av1.js';
import { writeFragment } from '../../media/mp4/cmaf.js';
import type { EncoderSettings } from '../../media/plan/plan.js';
import { planSampleTimes } from '../../media/plan/sample-times.js';
import type { Rational } from '../../media/source/source-facts.js';
import { check, cloneFrame, failMedia, setOptions } from '../ffmpeg/av.js';
import { openAv1Encoder, readAv1Config } from './av1-encoder.js';
import { EncodeQueue } from './encode-queue.js';

export interface FragmentEncoderSettings {
  readonly width: number;
  readonly height: number;
  readonly frameRate: Rational;
  /**
   * Without `maxRate` and `level`, the rate is not limited and the encoder chooses the level by
   * size and rate.
   */
  readonly encoder: Pick<EncoderSettings, 'preset' | 'crf'> & Partial<EncoderSettings>;
  /** Ticks per second of the times given to `add`. */
  readonly timescale: number;
  /**
   * The longest display duration of a frame that other frames are decoded after. Players that
   * ignore edit lists show such frames late by this duration. Absent means no limit.
   */
  readonly reorderTicks?: number | undefined;
  /** Only used without `maxRate`. */
  readonly threads: number;
  /** The fragment is followed by another one within two seconds, so its rate buffer is shorter. */
  readonly isShort?: boolean;
  /** `high` when absent. */
  readonly profile?: 'baseline' | 'main' | 'high';
  /** The ID of SPS and PPS; 0 when absent. */
  readonly parameterSetId?: number;
}

/**
 * The encoder's own clock, which only spaces the frames for rate control. True times are kept
 * separately and never rounded. It is constant because it is part of the SPS, which has to be the
 * same for every source.
 */
export const ENCODER_CLOCK = 90_000;

/**
 * `stitchable` keeps SPS and PPS independent of the content, so that one init segment serves all;
 * there is one key frame, at the start; `annexb=0` writes length prefixes.
 */
const X264_PARAMS = 'scenecut=0:open-gop=0:keyint=infinite:stitchable=1:annexb=0';

/** Each thread encodes one slice of each frame. */
const SLICES = 'sliced-threads=1';

/**
 * With a rate limit, each x264 thread considers how much the other threads have written so far,
 * which depends on the scheduler. Only a single thread produces the same bytes every time.
 */
const countThreads = ({ encoder, threads, isLive }: EncoderContextSettings): number =>
  encoder.maxRate === undefined || isLive ? threads : 1;

/**
 * x264's macroblock-tree code for AVX-512 reads uninitialized memory when a row is not a multiple
 * of 8 macroblocks, and it rounds differently. Without it, every CPU from AVX on produces the same
 * bytes. All CPUs with AVX-512 also have AVX2.
 */
const WITHOUT_AVX512 = 'asm=AVX2';

let hasAvx512: boolean | undefined;

const cpuParams = (): string[] => {
  hasAvx512 ??= existsSync('/proc/cpuinfo') && /\bavx512/.test(readFileSync('/proc/cpuinfo', 'latin1'));
  return hasAvx512 ? [WITHOUT_AVX512] : [];
};

/**
 * Each segment begins with a full rate buffer. With less, the key frame gets too few bits, and the
 * frames predicted from it are worse for half a second. The lower rate and the short buffer keep
 * any two seconds within what the playlist promises (docs/decisions/0038-rate-buffer.md).
 */
const BUFFER_START = 'vbv-init=1';
const RATE_SHARE = 0.83;
const BUFFER_SECONDS = 0.7;
const SHORT_BUFFER_SECONDS = 0.4;

const limitRate = (maxRate: number, bufferSeconds: number): { maxrate: number; bufsize: number } => {
  const maxrate = Math.round(maxRate * RATE_SHARE);
  return { maxrate, bufsize: Math.round(maxrate * bufferSeconds) };
};

export interface EncoderContextSettings extends Omit<FragmentEncoderSettings, 'timescale' | 'reorderTicks'> {
  /** Each frame is returned at once, and key frames are where the caller sets them. */
  readonly isLive?: boolean;
}

/** Opens libx264, or the encoder of AV1. The caller frees it with `freeContext`. */
export const openEncoder = (settings: EncoderContextSettings): CodecContext => {
  if (settings.encoder.codec === 'av1') return openAv1Encoder(settings, ENCODER_CLOCK);
  const codec = Codec.findEncoderByName(FF_ENCODER_LIBX264);
  if (codec === null) throw failMedia('encode', 'libx264 is missing');
  const { encoder, frameRate } = settings;
  const context = new CodecContext();
  context.allocContext3(codec);
  try {
    context.width = settings.width;
    context.height = settings.height;
    context.pixelFormat = AV_PIX_FMT_YUV420P;
    context.sampleAspectRatio = new AvRational(1, 1);
    context.timeBase = new AvRational(1, ENCODER_CLOCK);
    context.framerate = frameRate.num > 0 ? new AvRational(frameRate.num, frameRate.den) : new AvRational(30, 1);
    context.colorPrimaries = AVCOL_PRI_BT709;
    context.colorTrc = AVCOL_TRC_BT709;
    context.colorSpace = AVCOL_SPC_BT709;
    context.colorRange = AVCOL_RANGE_MPEG;
    context.threadCount = countThreads(settings);
    context.setFlags(AV_CODEC_FLAG_GLOBAL_HEADER);
    setOptions(context, {
      preset: encoder.preset,
      ...(settings.isLive && { tune: 'zerolatency', 'forced-idr': 1 }),
      profile: settings.profile ?? 'high',
      crf: encoder.crf,
      bf: encoder.bFrames ?? 2,
      'x264-params': [
        X264_PARAMS,
        SLICES,
        ...cpuParams(),
        ...(encoder.maxRate === undefined ? [] : [BUFFER_START]),
        ...(settings.parameterSetId === undefined ? [] : [`sps-id=${settings.parameterSetId}`]),
      ].join(':'),
      ...(encoder.maxRate !== undefined &&
        limitRate(encoder.maxRate, settings.isShort ? SHORT_BUFFER_SECONDS : BUFFER_SECONDS)),
      ...(encoder.level !== undefined && { level: encoder.level }),
    });
    check(context.open2Sync(codec, null), 'open libx264');
  } catch (error) {
    context.freeContext();
    throw error;
  }
  return context;
};

/** Reads the avcC or av1C record that all fragments with these settings share. */
export const readEncoderConfig = (settings: FragmentEncoderSettings): Buffer => {
  using context = openEncoder(settings);
  if (settings.encoder.codec === 'av1') return readAv1Config(context);
  const avcc = context.extraData;
  if (avcc === null || avcc[0] !== 1) throw failMedia('open libx264', 'it gave no avcC record');
  return Buffer.from(avcc);
};

export interface Fragment {
  readonly bytes: Uint8Array;
  /** Sizes of the samples in decode order; the key frame is first. */
  readonly sizesBytes: number[];
}

/** Encodes frames into one fragment that starts with its only key frame. */
export class FragmentEncoder {
  private readonly queue: EncodeQueue;
  private clock = -1n;
  private readonly ticksOf = new Map<bigint, number>();
  /** Up to two frames whose successors are not known yet, with their display times. */
  private readonly pending: { readonly frame: Frame; readonly ticks: number }[] = [];
  private readonly samples: { readonly ticks: number; readonly data: Buffer; readonly sync: boolean }[] = [];

  constructor(private readonly settings: FragmentEncoderSettings) {
    this.queue = new EncodeQueue(openEncoder(settings), (packet) => this.addSample(packet));
  }

  get frames(): number {
    return this.ticksOf.size + this.pending.length;
  }

  /**
   * Times must increase. The encoder keeps its own reference to the frame. Callers await `ready`
   * between the frames of a source.
   */
  add(frame: Frame, ticks: number): void {
    this.pending.push({ frame: cloneFrame(frame), ticks });
    const [, next, afterNext] = this.pending;
    if (afterNext) this.encodeNext(this.isLong(next!.ticks, afterNext.ticks));
  }

  /**
   * Resolves when there is room for another frame.
   * @throws KinoraError `media_failed` when the encoder has failed
   */
  ready(): Promise<void> {
    return this.queue.ready();
  }

  private isLong(ticks: number, endTicks: number): boolean {
    return endTicks - ticks > (this.settings.reorderTicks ?? Number.POSITIVE_INFINITY);
  }

  /**
   * Encodes a P frame before a long frame, so that no B frame has to wait until the long one is
   * decoded.
   */
  private encodeNext(isBeforeLong: boolean): void {
    const { frame, ticks } = this.pending.shift()!;
    const clock = BigInt(Math.round((ticks * ENCODER_CLOCK) / this.settings.timescale));
    const isFirst = this.ticksOf.size === 0;
    this.clock = this.clock < clock ? clock : this.clock + 1n;
    this.ticksOf.set(this.clock, ticks);
    frame.pts = this.clock;
    frame.pictType = isBeforeLong && !isFirst ? AV_PICTURE_TYPE_P : AV_PICTURE_TYPE_NONE;
    this.queue.push(frame);
  }

  /**
   * Returns the whole fragment; its durations add up to `endTicks - startTicks`.
   * @throws KinoraError `media_failed`
   */
  async finish(range: { sequence: number; startTicks: number; endTicks: number }): Promise<Fragment> {
    while (this.pending.length > 0) {
      const next = this.pending[1];
      this.encodeNext(next !== undefined && this.isLong(next.ticks, range.endTicks));
    }
    await this.queue.finish();
    if (this.samples.length === 0 || this.samples.length !== this.frames) {
      throw failMedia('encode', `${this.frames} frames became ${this.samples.length} samples`);
    }
    const times = planSampleTimes(
      this.samples.map(({ ticks }) => ticks),
      range.startTicks,
      range.endTicks,
      this.settings.reorderTicks,
    );
    const bytes = writeFragment({
      sequence: range.sequence,
      baseDecodeTicks: range.startTicks,
      samples: this.samples.map(({ data, sync }, index) => ({ ...times[index]!, sizeBytes: data.length, sync })),
      data: this.samples.map(({ data }) => data),
    });
    return { bytes, sizesBytes: this.samples.map(({ data }) => data.length) };
  }

  /** Resolves when no thread uses the encoder or a frame any more. */
  close(): Promise<void> {
    for (const { frame } of this.pending.splice(0)) frame.free();
    return this.queue.close();
  }

  private addSample({ pts, data, isKeyframe }: Packet): void {
    const ticks = this.ticksOf.get(pts);
    if (data === null || ticks === undefined) throw failMedia('encode', 'a packet without data or time');
    const isAv1 = this.settings.encoder.codec === 'av1';
    this.samples.push({ ticks, data: Buffer.from(isAv1 ? withoutTemporalDelimiters(data) : data), sync: isKeyframe });
  }
}
