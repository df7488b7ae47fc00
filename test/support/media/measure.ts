/**
 * Decodes results of the product for tests: counters of frames, samples of audio, packets. Uses
 * FFmpeg directly and nothing of the product's own reading or writing code.
 */
import { createHash, randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  AV_BUFFERSRC_FLAG_KEEP_REF,
  AV_LOG_QUIET,
  AV_NOPTS_VALUE,
  AV_PIX_FMT_YUV420P,
  AV_PKT_DATA_DISPLAYMATRIX,
  AVCOL_RANGE_JPEG,
  AVERROR_EAGAIN,
  AVERROR_EOF,
  AVMEDIA_TYPE_AUDIO,
  AVMEDIA_TYPE_VIDEO,
  type AVMediaType,
  AVSEEK_FLAG_BACKWARD,
} from 'node-av/constants';
import {
  avChannelLayoutDescribe,
  avGetCodecName,
  avGetCodecString,
  avGetPixFmtName,
  avGetSampleFmtName,
  Codec,
  CodecContext,
  FFmpegError,
  type FilterContext,
  FilterGraph,
  FormatContext,
  Frame,
  Log,
  Packet,
  type Stream,
} from 'node-av/lib';

Log.setLevel(AV_LOG_QUIET);

/**
 * A file or a URL; either after a seek, which ends at the key frame before; or the bytes of a file:
 * an init segment followed by media segments plays like a file.
 */
export type MediaInput = string | readonly Uint8Array[] | { readonly url: string; readonly seekSeconds: number };

export interface MeasuredFrame {
  readonly counter: number;
  readonly ptsSeconds: number;
  /** Mean luma (0 to 255) of the field that flashes at each full second. */
  readonly flash: number;
  /** Mean luma (0 to 255) of the whole frame. */
  readonly luma: number;
}

export interface ExactFrame extends MeasuredFrame {
  /** Hash of the samples as they are decoded. */
  readonly digest: string;
}

export interface MeasuredAudio {
  readonly sampleRate: number;
  readonly channels: readonly Float32Array[];
  /** Presentation time of the first sample. */
  readonly startSeconds: number;
}

export interface MeasuredStream {
  readonly index: number;
  readonly type: 'video' | 'audio' | 'other';
  readonly codec: string;
  /** RFC 6381. */
  readonly codecString: string | undefined;
  readonly width: number;
  readonly height: number;
  readonly sampleAspect: number;
  readonly pixelFormat: string | undefined;
  readonly rotation: 0 | 90 | 180 | 270;
  readonly sampleRate: number;
  readonly channels: number;
  readonly channelLayout: string | undefined;
  readonly timeBase: { readonly num: number; readonly den: number };
  readonly frameRate: number;
  readonly extradata: Buffer | undefined;
}

export interface MeasuredPacket {
  readonly streamIndex: number;
  readonly ptsSeconds: number;
  readonly dtsSeconds: number;
  readonly durationSeconds: number;
  readonly keyFrame: boolean;
  readonly sizeBytes: number;
}

export interface MeasuredFile {
  readonly formatName: string;
  readonly startSeconds: number;
  readonly durationSeconds: number;
  readonly streams: readonly MeasuredStream[];
}

const check = (code: number, operation: string): number => {
  FFmpegError.throwIfError(code, operation);
  return code;
};

const withInput = <T>(input: MediaInput, use: (context: FormatContext) => T): T => {
  const written = Array.isArray(input) ? join(tmpdir(), `measure-${randomBytes(6).toString('hex')}`) : undefined;
  const seek = typeof input === 'object' && 'url' in input ? input : undefined;
  const path = written ?? seek?.url ?? (input as string);
  if (written !== undefined) writeFileSync(written, Buffer.concat(input as Uint8Array[]));
  const context = new FormatContext();
  context.allocContext();
  try {
    check(context.openInputSync(path), `open ${path}`);
    check(context.findStreamInfoSync(), 'find streams');
    if (seek) check(context.seekFrameSync(-1, BigInt(seek.seekSeconds * 1e6), AVSEEK_FLAG_BACKWARD), 'seek');
    return use(context);
  } finally {
    context.closeInputSync();
    if (written !== undefined) rmSync(written);
  }
};

/** Hands every packet to `each`; the packet is only valid during the call. */
const forEachPacket = (context: FormatContext, each: (packet: Packet) => void): void => {
  const packet = new Packet();
  packet.alloc();
  for (;;) {
    const code = context.readFrameSync(packet);
    if (code === AVERROR_EOF) break;
    check(code, 'read packet');
    each(packet);
    packet.unref();
  }
  packet.free();
};

const getStream = (context: FormatContext, type: AVMediaType): Stream => {
  const stream = context.streams.find((s) => s.codecpar.codecType === type);
  if (stream === undefined) throw new Error('no such stream in the file');
  return stream;
};

/**
 * Decodes one stream from start to end; the frame is only valid during the call. Decode errors are
 * failures.
 */
const decodeStream = (context: FormatContext, stream: Stream, each: (frame: Frame) => void): void => {
  const codec = Codec.findDecoder(stream.codecpar.codecId);
  const decoder = new CodecContext();
  decoder.allocContext3(codec);
  check(decoder.parametersToContext(stream.codecpar), 'decoder parameters');
  decoder.pktTimebase = stream.timeBase;
  decoder.threadCount = 1;
  check(decoder.open2Sync(codec), 'open decoder');
  const frame = new Frame();
  frame.alloc();
  const receive = (): void => {
    for (;;) {
      const code = decoder.receiveFrameSync(frame);
      if (code === AVERROR_EAGAIN || code === AVERROR_EOF) return;
      check(code, 'decode');
      each(frame);
      frame.unref();
    }
  };
  try {
    forEachPacket(context, (packet) => {
      if (packet.streamIndex !== stream.index) return;
      check(decoder.sendPacketSync(packet), 'decode');
      receive();
    });
    check(decoder.sendPacketSync(null), 'decode');
    receive();
  } finally {
    frame.free();
    decoder.freeContext();
  }
};

/** A filter of one input and one output that is built from the first frame. */
const filterFrames = (
  describe: (frame: Frame) => string,
  each: (frame: Frame) => void,
): { push(frame: Frame | null): void } => {
  const graph = new FilterGraph();
  let source: FilterContext | undefined;
  let sink: FilterContext | undefined;
  const out = new Frame();
  return {
    push: (frame) => {
      if (source === undefined && frame !== null) {
        out.alloc();
        graph.alloc();
        graph.nbThreads = 1;
        check(graph.parsePtr(describe(frame)), 'filter');
        check(graph.configSync(), 'filter');
        source = (graph.getFilter('buffer@in') ?? graph.getFilter('abuffer@in')) as FilterContext;
        sink = (graph.getFilter('buffersink@out') ?? graph.getFilter('abuffersink@out')) as FilterContext;
      }
      if (source === undefined || sink === undefined) return;
      check(source.buffersrcAddFrameSync(frame, AV_BUFFERSRC_FLAG_KEEP_REF), 'filter');
      for (;;) {
        const code = sink.buffersinkGetFrameSync(out);
        if (code === AVERROR_EAGAIN || code === AVERROR_EOF) break;
        check(code, 'filter');
        each(out);
        out.unref();
      }
      if (frame === null) {
        out.free();
        graph.free();
      }
    },
  };
};

/** Four bytes at a time: every pixel of every frame goes through here. */
const meanOf = (values: Buffer): number => {
  const words = new Int32Array(values.buffer, values.byteOffset, values.length >> 2);
  let sum = 0;
  for (let first = 0; first < words.length; first += 128) {
    const end = Math.min(first + 128, words.length);
    // Two sums of 16 bits each, which 128 words can't exceed.
    let pair = 0;
    for (let at = first; at < end; at++) {
      const word = words[at] as number;
      pair += (word & 0xff00ff) + ((word >>> 8) & 0xff00ff);
    }
    sum += (pair & 0xffff) + (pair >>> 16);
  }
  for (let at = 4 * words.length; at < values.length; at++) sum += values[at] as number;
  return sum / values.length;
};

const COUNTER_BITS = 16;

/** Mean of a small patch around a place given as shares of the frame. */
const patch = (luma: Buffer, width: number, height: number, x: number, y: number): number => {
  const centreX = Math.min(width - 2, Math.max(1, Math.floor(x * width)));
  const centreY = Math.min(height - 2, Math.max(1, Math.floor(y * height)));
  let sum = 0;
  for (let dy = -1; dy <= 1; dy++) {
    for (let dx = -1; dx <= 1; dx++) sum += luma[(centreY + dy) * width + centreX + dx] as number;
  }
  return sum / 9;
};

/**
 * Reads the bars of `paintCounter` from tightly packed luma. @throws when they cannot be told
 * apart.
 */
const readCounter = (luma: Buffer, width: number, height: number): number => {
  let counter = 0;
  for (let bar = 0; bar < COUNTER_BITS; bar++) {
    const x = (bar + 0.5) / COUNTER_BITS;
    const difference = patch(luma, width, height, x, 0.5 / 24) - patch(luma, width, height, x, 1.5 / 24);
    if (Math.abs(difference) < 30) throw new Error(`counter bar ${bar} is unreadable (${difference})`);
    counter = counter * 2 + (difference > 0 ? 1 : 0);
  }
  return counter;
};

const ROTATIONS = { 0: 'null', 90: 'transpose=1', 180: 'hflip,vflip', 270: 'transpose=2' } as const;

const rotationOf = (stream: Stream): 0 | 90 | 180 | 270 => {
  const matrix = stream.codecpar.getCodedSideData(AV_PKT_DATA_DISPLAYMATRIX);
  if (matrix === null) return 0;
  const a = matrix.readInt32LE(0);
  const b = matrix.readInt32LE(4);
  return ((Math.round((Math.atan2(b, a) * 180) / Math.PI) + 360) % 360) as 0 | 90 | 180 | 270;
};

const digestOf = (samples: Buffer): string => createHash('sha1').update(samples).digest('hex');

/** FFmpeg's `gray` has the full range. It is lower by up to 1.3, because FFmpeg rounds down. */
const toFullRange = (luma: number): number => ((luma - 16) * 255) / 219;

const readMeasuredFrames = (input: MediaInput, onDecoded?: (samples: Buffer) => void): MeasuredFrame[] =>
  withInput(input, (context) => {
    const stream = getStream(context, AVMEDIA_TYPE_VIDEO);
    const { num, den } = stream.timeBase;
    const rotation = ROTATIONS[rotationOf(stream)];
    const frames: MeasuredFrame[] = [];
    const measure = (luma: Buffer, { width, height, pts }: Frame, range = (value: number) => value): void => {
      frames.push({
        counter: readCounter(luma, width, height),
        ptsSeconds: (Number(pts) * num) / den,
        flash: range(patch(luma, width, height, 0.5, 0.6)),
        luma: range(meanOf(luma)),
      });
    };
    const filter = filterFrames(
      (frame) =>
        `buffer@in=video_size=${frame.width}x${frame.height}:pix_fmt=${frame.format}:time_base=${num}/${den},` +
        `${rotation},format=gray,buffersink@out`,
      (frame) => measure(frame.toBuffer(), frame),
    );
    decodeStream(context, stream, (frame) => {
      // Streams of AVI carry no presentation times; what FFmpeg works out is in.
      if (frame.pts === AV_NOPTS_VALUE) frame.pts = frame.bestEffortTimestamp;
      // Such a frame starts with its luma plane. The filter takes as long as the decoder, so it is
      // left out.
      const hasPlainLuma =
        frame.format === AV_PIX_FMT_YUV420P && frame.colorRange !== AVCOL_RANGE_JPEG && rotation === 'null';
      const samples = hasPlainLuma || onDecoded ? frame.toBuffer() : undefined;
      if (samples) onDecoded?.(samples);
      if (samples && hasPlainLuma) measure(samples.subarray(0, frame.width * frame.height), frame, toFullRange);
      else filter.push(frame);
    });
    filter.push(null);
    return frames;
  });

/** Every frame in presentation order, rotated as a player displays it. */
export const readFrameCounters = (input: MediaInput): MeasuredFrame[] => readMeasuredFrames(input);

/** `readFrameCounters` with digests; hashing every frame takes time. */
export const readExactFrames = (input: MediaInput): ExactFrame[] => {
  const digests: string[] = [];
  const frames = readMeasuredFrames(input, (samples) => void digests.push(digestOf(samples)));
  return frames.map((frame, index) => ({ ...frame, digest: digests[index]! }));
};

/** Only the digests of `readExactFrames`. */
export const readFrameDigests = (input: MediaInput): string[] =>
  withInput(input, (context) => {
    const digests: string[] = [];
    decodeStream(
      context,
      getStream(context, AVMEDIA_TYPE_VIDEO),
      (frame) => void digests.push(digestOf(frame.toBuffer())),
    );
    return digests;
  });

export interface LumaFrame {
  readonly luma: Buffer;
  readonly width: number;
  readonly height: number;
}

/** The brightness of every pixel of every frame, in presentation order. */
export const readLuma = (input: MediaInput): LumaFrame[] =>
  withInput(input, (context) => {
    const frames: LumaFrame[] = [];
    decodeStream(context, getStream(context, AVMEDIA_TYPE_VIDEO), (frame) => {
      const { width, height } = frame;
      frames.push({ luma: frame.toBuffer().subarray(0, width * height), width, height });
    });
    return frames;
  });

export interface RgbFrame {
  readonly width: number;
  readonly height: number;
  /** Red, green and blue of each pixel, row by row. */
  readonly rgb: Buffer;
  readonly ptsSeconds: number;
}

/**
 * Every frame of an image file or video the way it is stored, in full-range RGB; `chain` comes
 * before the conversion.
 */
export const readRgbFrames = (input: MediaInput, chain = 'null'): RgbFrame[] =>
  withInput(input, (context) => {
    const stream = getStream(context, AVMEDIA_TYPE_VIDEO);
    const { num, den } = stream.timeBase;
    const frames: RgbFrame[] = [];
    const filter = filterFrames(
      (frame) =>
        `buffer@in=video_size=${frame.width}x${frame.height}:pix_fmt=${frame.format}:time_base=${num}/${den}` +
        `:colorspace=${frame.colorSpace}:range=${frame.colorRange},` +
        `${chain},scale=flags=bicubic+accurate_rnd+full_chroma_int,format=rgb24,buffersink@out`,
      (frame) => {
        const { width, height, pts } = frame;
        frames.push({ width, height, rgb: frame.toBuffer(), ptsSeconds: (Number(pts) * num) / den });
      },
    );
    decodeStream(context, stream, (frame) => filter.push(frame));
    filter.push(null);
    return frames;
  });

/** The counter of a frame; undefined where none can be read: it is rotated, cut or too small. */
export const counterOf = ({ width, height, rgb }: Omit<RgbFrame, 'ptsSeconds'>): number | undefined => {
  const luma = Buffer.alloc(width * height);
  for (let at = 0; at < luma.length; at++) {
    luma[at] = ((rgb[at * 3] as number) + (rgb[at * 3 + 1] as number) + (rgb[at * 3 + 2] as number)) / 3;
  }
  try {
    return readCounter(luma, width, height);
  } catch {
    // That is what undefined says.
    return undefined;
  }
};

/** How many frames of the first video stream can be decoded, whatever they show. */
export const countFrames = (input: MediaInput): number =>
  withInput(input, (context) => {
    let frames = 0;
    decodeStream(context, getStream(context, AVMEDIA_TYPE_VIDEO), () => {
      frames += 1;
    });
    return frames;
  });

/**
 * All samples of the first audio stream as floats, one array per channel; gaps between time stamps
 * are not filled.
 */
export const readAudio = (input: MediaInput): MeasuredAudio =>
  withInput(input, (context) => {
    const stream = getStream(context, AVMEDIA_TYPE_AUDIO);
    const { num, den } = stream.timeBase;
    const parts: Float32Array[][] = [];
    let startSeconds: number | undefined;
    let sampleRate = 0;
    const filter = filterFrames(
      (frame) =>
        `abuffer@in=sample_rate=${frame.sampleRate}:sample_fmt=${avGetSampleFmtName(frame.format as never)}` +
        `:channel_layout=${avChannelLayoutDescribe(frame.channelLayout)}:time_base=${num}/${den},` +
        'aformat=sample_fmts=fltp,abuffersink@out',
      (frame) => {
        const bytes = frame.toBuffer();
        const samples = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
        const perChannel = samples.length / frame.channels;
        for (let channel = 0; channel < frame.channels; channel++) {
          parts[channel] ??= [];
          parts[channel]?.push(samples.subarray(channel * perChannel, channel * perChannel + frame.nbSamples));
        }
      },
    );
    decodeStream(context, stream, (frame) => {
      startSeconds ??= (Number(frame.pts) * num) / den;
      sampleRate = frame.sampleRate;
      filter.push(frame);
    });
    filter.push(null);
    return { sampleRate, startSeconds: startSeconds ?? 0, channels: parts.map(concatenate) };
  });

/** EBU R128 of the first audio stream by FFmpeg's `ebur128`: LUFS and dBTP. */
export const readLoudness = (input: MediaInput): { readonly integrated: number; readonly truePeak: number } =>
  withInput(input, (context) => {
    const stream = getStream(context, AVMEDIA_TYPE_AUDIO);
    let integrated = Number.NaN;
    let truePeak = 0;
    const filter = filterFrames(
      (frame) =>
        `abuffer@in=sample_rate=${frame.sampleRate}:sample_fmt=${avGetSampleFmtName(frame.format as never)}` +
        `:channel_layout=${avChannelLayoutDescribe(frame.channelLayout)}:time_base=1/${frame.sampleRate},` +
        'ebur128=peak=true:metadata=1:framelog=quiet,abuffersink@out',
      (frame) => {
        const metadata = frame.getMetadata();
        const values = metadata.getAll();
        metadata.free();
        if (values['lavfi.r128.I'] !== undefined) integrated = Number(values['lavfi.r128.I']);
        for (const [key, value] of Object.entries(values))
          if (key.startsWith('lavfi.r128.true_peak')) truePeak = Math.max(truePeak, Number(value) || 0);
      },
    );
    decodeStream(context, stream, (frame) => filter.push(frame));
    filter.push(null);
    return { integrated, truePeak: 20 * Math.log10(truePeak) };
  });

const concatenate = (parts: readonly Float32Array[]): Float32Array => {
  const whole = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
};

export const probeFile = (input: MediaInput): MeasuredFile =>
  withInput(input, (context) => ({
    formatName: context.iformat?.name ?? '',
    startSeconds: Number(context.startTime) / 1e6,
    durationSeconds: Number(context.duration) / 1e6,
    streams: context.streams.map((stream) => {
      const { codecpar } = stream;
      const isVideo = codecpar.codecType === AVMEDIA_TYPE_VIDEO;
      const isAudio = codecpar.codecType === AVMEDIA_TYPE_AUDIO;
      return {
        index: stream.index,
        type: isVideo ? 'video' : isAudio ? 'audio' : 'other',
        codec: avGetCodecName(codecpar.codecId) ?? '',
        codecString: avGetCodecString(codecpar) ?? undefined,
        width: codecpar.width,
        height: codecpar.height,
        sampleAspect: codecpar.sampleAspectRatio.num === 0 ? 1 : codecpar.sampleAspectRatio.toDouble(),
        pixelFormat: isVideo ? (avGetPixFmtName(codecpar.format as never) ?? undefined) : undefined,
        rotation: rotationOf(stream),
        sampleRate: codecpar.sampleRate,
        channels: isAudio ? codecpar.channels : 0,
        channelLayout: isAudio ? (avChannelLayoutDescribe(codecpar.channelLayout) ?? undefined) : undefined,
        timeBase: { num: stream.timeBase.num, den: stream.timeBase.den },
        frameRate: stream.avgFrameRate.den === 0 ? 0 : stream.avgFrameRate.toDouble(),
        extradata: codecpar.extradata ?? undefined,
      };
    }),
  }));

/** Every packet in file order. */
export const readPackets = (input: MediaInput): MeasuredPacket[] =>
  withInput(input, (context) => {
    const packets: MeasuredPacket[] = [];
    const bases = context.streams.map(({ timeBase }) => timeBase.num / timeBase.den);
    const seconds = (ticks: bigint, base: number): number =>
      ticks === AV_NOPTS_VALUE ? Number.NaN : Number(ticks) * base;
    forEachPacket(context, (packet) => {
      const base = bases[packet.streamIndex] as number;
      packets.push({
        streamIndex: packet.streamIndex,
        ptsSeconds: seconds(packet.pts, base),
        dtsSeconds: seconds(packet.dts, base),
        durationSeconds: Number(packet.duration) * base,
        keyFrame: packet.isKeyframe,
        sizeBytes: packet.size,
      });
    });
    return packets;
  });

/** The bytes of every packet of the first stream, in file order. */
export const readPacketBytes = (input: MediaInput): Buffer[] =>
  withInput(input, (context) => {
    const bytes: Buffer[] = [];
    forEachPacket(context, ({ streamIndex, data }) => {
      if (streamIndex === 0) bytes.push(Buffer.from(data!));
    });
    return bytes;
  });

/**
 * Phase in radians and amplitude of a tone in `samples[from, from + count)`, measured against time
 * zero of sample 0.
 */
export const measureTone = (
  samples: Float32Array,
  sampleRate: number,
  frequency: number,
  from: number,
  count: number,
): { readonly phase: number; readonly amplitude: number } => {
  let sine = 0;
  let cosine = 0;
  const step = (2 * Math.PI * frequency) / sampleRate;
  const stepCosine = Math.cos(step);
  const stepSine = Math.sin(step);
  // Rotated by one step a sample: ten times faster than asking for each sine, and exact to 1e-12
  // over a second.
  let x = Math.cos(step * from);
  let y = Math.sin(step * from);
  for (let i = from; i < from + count; i++) {
    const sample = samples[i] as number;
    sine += sample * y;
    cosine += sample * x;
    const rotated = x * stepCosine - y * stepSine;
    y = x * stepSine + y * stepCosine;
    x = rotated;
  }
  return { phase: Math.atan2(cosine, sine), amplitude: (2 * Math.hypot(sine, cosine)) / count };
};
