import { writeFileSync } from 'node:fs';
import { AV_CODEC_FLAG_BITEXACT, AV_PIX_FMT_BGRA, AV_PIX_FMT_PAL8 } from 'node-av/constants';
import { Rational as AvRational, Codec, CodecContext, FormatContext, type Frame, type Stream } from 'node-av/lib';
import type { AnimatedJob } from '../../pool/protocol.js';
import { check, failMedia, isDrained, newPacket, setOptions } from '../ffmpeg/av.js';
import { FrameGraph } from '../ffmpeg/filter-graph.js';

const KINDS = {
  // One palette for the whole animation. An ordered pattern does not move while the frame stays the
  // same.
  gif: {
    encoder: 'gif',
    pixelFormat: AV_PIX_FMT_PAL8,
    chain:
      'scale=flags=bicubic+accurate_rnd+full_chroma_int,format=bgra,split[a][b];[a]palettegen[p];' +
      '[b][p]paletteuse=dither=bayer:bayer_scale=5:diff_mode=rectangle',
    options: {},
  },
  webp: {
    encoder: 'libwebp_anim',
    pixelFormat: AV_PIX_FMT_BGRA,
    chain: 'scale=flags=bicubic+accurate_rnd+full_chroma_int,format=bgra',
    options: { quality: 75, compression_level: 2 },
  },
} as const;

/** Encodes the frames of an animation that repeats forever. */
export class AnimationWriter {
  private graph: FrameGraph | undefined;
  private readonly context = new CodecContext();
  private readonly packet = newPacket();
  private output: FormatContext | undefined;
  private stream: Stream | undefined;
  private readonly parts: Buffer[] = [];

  constructor(private readonly job: AnimatedJob) {
    const { encoder, pixelFormat, options } = KINDS[job.format];
    const codec = Codec.findEncoderByName(encoder as never);
    if (codec === null) throw failMedia('encode', `${encoder} is missing`);
    const { context } = this;
    context.allocContext3(codec);
    try {
      context.width = job.width;
      context.height = job.height;
      context.pixelFormat = pixelFormat;
      context.sampleAspectRatio = new AvRational(1, 1);
      context.timeBase = new AvRational(1, job.framesPerSecond);
      context.threadCount = 1;
      context.setFlags(AV_CODEC_FLAG_BITEXACT);
      setOptions(context, options);
      check(context.open2Sync(codec, null), `open ${encoder}`);
      if (job.format === 'gif') this.openGif();
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** @param number of the frame, from 0 */
  add(frame: Frame, number: number): void {
    const { threads, framesPerSecond } = this.job;
    this.graph ??= new FrameGraph(
      frame,
      KINDS[this.job.format].chain,
      { timeBase: { num: 1, den: framesPerSecond }, threads },
      (image) => this.encode(image),
    );
    this.graph.push(frame, number);
  }

  /** @returns the size of the file in bytes */
  finish(): number {
    this.graph?.finish();
    this.encode(null);
    if (this.output) check(this.output.writeTrailerSync(), 'write animation');
    else writeFileSync(this.job.outPath, Buffer.concat(this.parts));
    return this.parts.reduce((sum, { length }) => sum + length, 0);
  }

  close(): void {
    this.graph?.[Symbol.dispose]();
    this.context.freeContext();
    this.packet.free();
    this.output?.closeOutputSync();
    this.output?.freeContext();
  }

  private openGif(): void {
    const output = new FormatContext();
    check(output.allocOutputContext2(null, 'gif', this.job.outPath), 'animation');
    this.output = output;
    this.stream = output.newStream(null);
    check(this.stream.codecpar.fromContext(this.context), 'animation');
    this.stream.timeBase = this.context.timeBase;
    check(output.openOutputSync(), 'animation');
    check(output.writeHeaderSync(null), 'animation');
  }

  private encode(frame: Frame | null): void {
    check(this.context.sendFrameSync(frame), 'encode frame');
    for (;;) {
      const code = this.context.receivePacketSync(this.packet);
      if (isDrained(code)) return;
      check(code, 'encode frame');
      const { packet, output, stream } = this;
      if (packet.data !== null) this.parts.push(Buffer.from(packet.data));
      if (output && stream) {
        // The duration of the last frame; the others last until the next frame.
        packet.duration = 1n;
        packet.rescaleTs(this.context.timeBase, stream.timeBase);
        packet.streamIndex = stream.index;
        check(output.writeFrameSync(packet), 'write animation');
      }
      packet.unref();
    }
  }
}
