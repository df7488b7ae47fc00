/**
 * Writes generated media files: painted frames and computed audio through FFmpeg's encoders and
 * muxers.
 */
import {
  AV_BUFFERSRC_FLAG_KEEP_REF,
  AV_CODEC_FLAG_GLOBAL_HEADER,
  AV_CODEC_FLAG_INTERLACED_DCT,
  AV_CODEC_FLAG_INTERLACED_ME,
  AV_LOG_QUIET,
  AV_PICTURE_TYPE_NONE,
  AV_PIX_FMT_YUV420P,
  AV_PKT_DATA_DISPLAYMATRIX,
  AV_SAMPLE_FMT_FLTP,
  AVCOL_PRI_BT709,
  AVCOL_PRI_BT2020,
  AVCOL_RANGE_MPEG,
  AVCOL_SPC_BT709,
  AVCOL_SPC_BT2020_NCL,
  AVCOL_TRC_ARIB_STD_B67,
  AVCOL_TRC_BT709,
  AVCOL_TRC_SMPTE2084,
  AVERROR_EAGAIN,
  AVERROR_EOF,
  AVFMT_GLOBALHEADER,
} from 'node-av/constants';
import {
  avChannelLayoutDefault,
  Codec,
  CodecContext,
  Dictionary,
  FFmpegError,
  type FilterContext,
  FilterGraph,
  FormatContext,
  Frame,
  Log,
  Packet,
  Rational,
  type Stream,
} from 'node-av/lib';
import { fillRectangle, paintCounter, paintDigits } from '#kinora/engine/video/test-pattern.js';
import type { AudioRecipe, MediaRecipe, VideoRecipe } from './fixture-recipe.js';

Log.setLevel(AV_LOG_QUIET);

/**
 * Continuous tone of each channel in Hz; the beep of every second is 1,000 Hz on top, in all
 * channels.
 */
export const CHANNEL_TONES: readonly number[] = [400, 600, 800, 60, 1200, 1600];
/** Both flash and beep begin at each full second and last this long. */
const MARK_SECONDS = 0.1;

const check = (code: number, operation: string): number => {
  FFmpegError.throwIfError(code, operation);
  return code;
};

/** Pulls everything that is ready; `receive` is one of the `receive…Sync` calls. */
const drain = (receive: () => number, each: () => void, operation: string): void => {
  for (;;) {
    const code = receive();
    if (code === AVERROR_EAGAIN || code === AVERROR_EOF) return;
    check(code, operation);
    each();
  }
};

const paintFrame = (width: number, height: number, counter: number, seconds: number): Buffer => {
  const chromaWidth = (width + 1) >> 1;
  const chromaHeight = (height + 1) >> 1;
  const image = Buffer.alloc(width * height + 2 * chromaWidth * chromaHeight, 128);
  const plane = { data: image.subarray(0, width * height), stride: width, width, height };
  // Two rows are equal, and all repeat after 128: each is computed once.
  for (let y = 0; y < height; y++) {
    const row = y * width;
    const equal = y >= 128 ? y - 128 : y & ~1;
    if (equal < y) image.copyWithin(row, equal * width, (equal + 1) * width);
    else for (let x = 0; x < width; x++) image[row + x] = 60 + ((((x + 3 * counter) >> 2) + (y >> 1)) & 63);
  }
  for (let y = 0; y < chromaHeight; y++) {
    const u = width * height + y * chromaWidth;
    const v = u + chromaWidth * chromaHeight;
    image.fill(112 + Math.floor((32 * y) / chromaHeight), u, u + chromaWidth);
    image.fill(144 - Math.floor((32 * y) / chromaHeight), v, v + chromaWidth);
  }
  const unit = height / 10;
  fillRectangle(plane, ((counter * 5) % (width + unit)) - unit, height * 0.3, unit, unit, 200);
  fillRectangle(plane, width * 0.35, height * 0.5, width * 0.3, height * 0.2, isMark(seconds) ? 235 : 16);
  paintDigits(plane, String(counter).padStart(5, '0'), unit, height - 2 * unit, 1.5 * unit);
  paintCounter(plane, counter);
  return image;
};

const isMark = (seconds: number): boolean => (seconds + 1e-6) % 1 < MARK_SECONDS;

interface Track {
  readonly stream: Stream;
  /** Seconds of the next frame or sample; Infinity when done. */
  next: number;
  /** Encodes one frame of video or audio. */
  advance(): void;
}

// Options are set one by one: node-av leaves a dictionary that was passed to `open2Sync` dangling,
// and its finalizer crashes.
const openEncoder = (codec: Codec, context: CodecContext, options: Readonly<Record<string, string>>): void => {
  for (const [name, value] of Object.entries(options)) check(context.setOption(name, value), `${codec.name} ${name}`);
  check(context.open2Sync(codec), `open ${codec.name}`);
};

const getEncoder = (name: string): Codec => {
  const codec = Codec.findEncoderByName(name as never);
  if (codec === null) throw new Error(`no encoder ${name}`);
  return codec;
};

interface OpenFilter {
  readonly graph: FilterGraph;
  readonly source: FilterContext;
  readonly sink: FilterContext;
}

const openFilter = (chain: string, input: string, output: string): OpenFilter => {
  const graph = new FilterGraph();
  graph.alloc();
  check(graph.parsePtr(chain), chain);
  check(graph.configSync(), chain);
  return { graph, source: graph.getFilter(input) as FilterContext, sink: graph.getFilter(output) as FilterContext };
};

/** From frames through a filter and an encoder to packets. Both are freed at the end. */
const openLine = ({ graph, source, sink }: OpenFilter, encoder: CodecContext, each: (packet: Packet) => void) => {
  const packet = newPacket();
  const filtered = newFrame();
  const encode = (frame: Frame | null): void => {
    check(encoder.sendFrameSync(frame), 'encode frame');
    drain(
      () => encoder.receivePacketSync(packet),
      () => each(packet),
      'encode frame',
    );
  };
  const filter = (frame: Frame | null): void => {
    check(source.buffersrcAddFrameSync(frame, AV_BUFFERSRC_FLAG_KEEP_REF), 'filter frame');
    drain(
      () => sink.buffersinkGetFrameSync(filtered),
      () => {
        // The encoder alone chooses the types of frames.
        filtered.pictType = AV_PICTURE_TYPE_NONE;
        encode(filtered);
        filtered.unref();
      },
      'filter frame',
    );
  };
  return {
    send: (frame: Frame): void => {
      filter(frame);
      frame.free();
    },
    finish: (): void => {
      filter(null);
      encode(null);
      packet.free();
      filtered.free();
      graph.free();
      encoder.freeContext();
    },
  };
};

const ROTATE_BACK = { 90: 'transpose=2', 180: 'hflip,vflip', 270: 'transpose=1' } as const;

/**
 * Display matrix of a clockwise rotation (ISO/IEC 14496-12, 8.2.2: 16.16 fixed point, last column
 * 2.30), host byte order.
 */
const displayMatrix = (rotation: 90 | 180 | 270): Buffer => {
  const [a, b, c, d] = { 90: [0, 1, -1, 0], 180: [-1, 0, 0, -1], 270: [0, -1, 1, 0] }[rotation] as [
    number,
    number,
    number,
    number,
  ];
  return Buffer.from(new Int32Array([a * 65536, b * 65536, 0, c * 65536, d * 65536, 0, 0, 0, 1 << 30]).buffer);
};

const addVideo = (output: FormatContext, recipe: MediaRecipe, video: VideoRecipe, write: WritePacket): Track => {
  const codec = getEncoder(video.encoder);
  const inputBase = video.deltasMs === undefined ? { num: video.rate[1], den: video.rate[0] } : { num: 1, den: 1000 };
  const chain = [
    `buffer@in=video_size=${video.width}x${video.height}:pix_fmt=yuv420p:time_base=${inputBase.num}/${inputBase.den}` +
      `:pixel_aspect=1/1:frame_rate=${video.rate[0]}/${video.rate[1]}:colorspace=bt709:range=tv`,
    'setparams=color_primaries=bt709:color_trc=bt709:colorspace=bt709:range=tv',
    ...(video.rotation === undefined ? [] : [ROTATE_BACK[video.rotation]]),
    video.filter ?? 'null',
    'buffersink@out',
  ].join(',');
  const filter = openFilter(chain, 'buffer@in', 'buffersink@out');
  const { sink } = filter;

  const encoder = new CodecContext();
  encoder.allocContext3(codec);
  encoder.width = sink.buffersinkGetWidth();
  encoder.height = sink.buffersinkGetHeight();
  encoder.pixelFormat = sink.buffersinkGetFormat() as typeof AV_PIX_FMT_YUV420P;
  encoder.timeBase = sink.buffersinkGetTimeBase();
  encoder.framerate = sink.buffersinkGetFrameRate();
  encoder.sampleAspectRatio = sink.buffersinkGetSampleAspectRatio();
  encoder.colorRange = AVCOL_RANGE_MPEG;
  encoder.colorPrimaries = video.hdr === undefined ? AVCOL_PRI_BT709 : AVCOL_PRI_BT2020;
  encoder.colorSpace = video.hdr === undefined ? AVCOL_SPC_BT709 : AVCOL_SPC_BT2020_NCL;
  encoder.colorTrc = { none: AVCOL_TRC_BT709, pq: AVCOL_TRC_SMPTE2084, hlg: AVCOL_TRC_ARIB_STD_B67 }[
    video.hdr ?? 'none'
  ];
  encoder.threadCount = 1;
  encoder.gopSize = video.gop ?? 60;
  encoder.maxBFrames = video.bFrames ?? 0;
  if (video.bitRate !== undefined) encoder.bitRate = BigInt(video.bitRate);
  if (((output.oformat?.flags ?? 0) & AVFMT_GLOBALHEADER) !== 0) encoder.setFlags(AV_CODEC_FLAG_GLOBAL_HEADER);
  if (video.interlaced === true) encoder.setFlags(AV_CODEC_FLAG_INTERLACED_DCT, AV_CODEC_FLAG_INTERLACED_ME);
  openEncoder(codec, encoder, video.options ?? {});

  const stream = output.newStream(null);
  stream.timeBase = encoder.timeBase;
  stream.avgFrameRate = encoder.framerate;
  stream.sampleAspectRatio = encoder.sampleAspectRatio;
  check(stream.codecpar.fromContext(encoder), 'parameters');
  if (video.tag !== undefined) stream.codecpar.codecTag = video.tag;
  if (video.rotation !== undefined) {
    check(stream.codecpar.addCodedSideData(AV_PKT_DATA_DISPLAYMATRIX, displayMatrix(video.rotation)), 'matrix');
  }

  const shift = (recipe.offsetSeconds ?? 0) + (video.startSeconds ?? 0);
  const line = openLine(filter, encoder, (packet) => write(packet, stream, encoder.timeBase, shift));
  const total = video.seconds ?? recipe.seconds;
  let index = 0;
  let ticks = 0;
  const frames = Math.round((total * video.rate[0]) / video.rate[1]);
  const track: Track = {
    stream,
    next: video.startSeconds ?? 0,
    advance: () => {
      const seconds = (ticks * inputBase.num) / inputBase.den;
      const done = video.deltasMs === undefined ? index >= frames : seconds >= total;
      if (done) {
        line.finish();
        track.next = Number.POSITIVE_INFINITY;
        return;
      }
      // Both fields of an interlaced frame carry the number of the whole frame.
      const counter = (recipe.firstCounter ?? 0) + (video.interlaced === true ? index >> 1 : index);
      const frame = Frame.fromVideoBuffer(paintFrame(video.width, video.height, counter, seconds), {
        width: video.width,
        height: video.height,
        format: AV_PIX_FMT_YUV420P,
        timeBase: inputBase,
        sampleAspectRatio: { num: 1, den: 1 },
        pts: BigInt(ticks),
      });
      const deltas = video.deltasMs;
      const delta = deltas === undefined ? 1 : (deltas[index % deltas.length] as number);
      frame.duration = BigInt(delta);
      line.send(frame);
      index += 1;
      ticks += delta;
      track.next = (video.startSeconds ?? 0) + (ticks * inputBase.num) / inputBase.den;
    },
  };
  return track;
};

const audioAt = (channel: number, seconds: number, amplitude = 0.2): number => {
  const tone = amplitude * Math.sin(2 * Math.PI * (CHANNEL_TONES[channel] as number) * seconds);
  return isMark(seconds) ? tone + amplitude * Math.sin(2 * Math.PI * 1000 * seconds) : tone;
};

const addAudio = (output: FormatContext, recipe: MediaRecipe, audio: AudioRecipe, write: WritePacket): Track => {
  const codec = getEncoder(audio.encoder);
  const encoder = new CodecContext();
  encoder.allocContext3(codec);
  const layout = avChannelLayoutDefault(audio.channels);
  encoder.sampleRate = audio.sampleRate;
  encoder.channelLayout = layout;
  encoder.sampleFormat = codec.sampleFormats?.[0] ?? AV_SAMPLE_FMT_FLTP;
  encoder.timeBase = new Rational(1, audio.sampleRate);
  if (audio.bitRate !== undefined) encoder.bitRate = BigInt(audio.bitRate);
  if (((output.oformat?.flags ?? 0) & AVFMT_GLOBALHEADER) !== 0) encoder.setFlags(AV_CODEC_FLAG_GLOBAL_HEADER);
  openEncoder(codec, encoder, { strict: '-2', ...audio.options });

  const stream = output.newStream(null);
  stream.timeBase = encoder.timeBase;
  check(stream.codecpar.fromContext(encoder), 'parameters');

  const frameSize = encoder.frameSize > 0 ? encoder.frameSize : 1024;
  const chain =
    `abuffer@in=sample_rate=${audio.sampleRate}:sample_fmt=fltp:channel_layout=${LAYOUT_NAMES[audio.channels]}:time_base=1/${audio.sampleRate},` +
    `aformat=sample_fmts=${SAMPLE_FORMAT_NAMES[encoder.sampleFormat]}:channel_layouts=${LAYOUT_NAMES[audio.channels]},` +
    `asetnsamples=n=${frameSize}:p=0,abuffersink@out`;
  const shift = (recipe.offsetSeconds ?? 0) + (audio.startSeconds ?? 0);
  const line = openLine(openFilter(chain, 'abuffer@in', 'abuffersink@out'), encoder, (packet) => {
    const seconds = Number(packet.pts) / audio.sampleRate;
    if (audio.hole !== undefined && seconds >= audio.hole[0] && seconds < audio.hole[1]) packet.unref();
    else write(packet, stream, encoder.timeBase, shift, 1 + (audio.drift ?? 0));
  });
  const total = Math.round((audio.seconds ?? recipe.seconds) * audio.sampleRate);
  let position = 0;
  const track: Track = {
    stream,
    next: audio.startSeconds ?? 0,
    advance: () => {
      if (position >= total) {
        line.finish();
        track.next = Number.POSITIVE_INFINITY;
        return;
      }
      const count = Math.min(frameSize, total - position);
      const samples = new Float32Array(count * audio.channels);
      for (let channel = 0; channel < audio.channels; channel++) {
        for (let i = 0; i < count; i++) {
          // Audio follows the time stamps: with drift a sample lasts a little longer than 1/rate.
          const seconds = ((position + i) / audio.sampleRate) * (1 + (audio.drift ?? 0)) + (audio.startSeconds ?? 0);
          samples[channel * count + i] =
            audio.tone === undefined
              ? audioAt(channel, seconds, audio.amplitude)
              : (audio.amplitude ?? 0.2) * Math.sin(2 * Math.PI * audio.tone * seconds);
        }
      }
      const frame = Frame.fromAudioBuffer(Buffer.from(samples.buffer), {
        nbSamples: count,
        format: AV_SAMPLE_FMT_FLTP,
        sampleRate: audio.sampleRate,
        channelLayout: layout,
        timeBase: { num: 1, den: audio.sampleRate },
        pts: BigInt(position),
      });
      line.send(frame);
      position += count;
      track.next = (audio.startSeconds ?? 0) + position / audio.sampleRate;
    },
  };
  return track;
};

const LAYOUT_NAMES: Readonly<Record<number, string>> = { 1: 'mono', 2: 'stereo', 6: '5.1' };
const SAMPLE_FORMAT_NAMES: Readonly<Record<number, string>> = {
  0: 'u8',
  1: 's16',
  2: 's32',
  3: 'flt',
  4: 'dbl',
  5: 'u8p',
  6: 's16p',
  7: 's32p',
  8: 'fltp',
};

const newPacket = (): Packet => {
  const packet = new Packet();
  packet.alloc();
  return packet;
};
const newFrame = (): Frame => {
  const frame = new Frame();
  frame.alloc();
  return frame;
};

type WritePacket = (packet: Packet, stream: Stream, timeBase: Rational, shiftSeconds: number, stretch?: number) => void;

export const writeMedia = (recipe: MediaRecipe, path: string): void => {
  const output = new FormatContext();
  check(output.allocOutputContext2(null, recipe.muxer, path), `muxer ${recipe.muxer}`);
  const write: WritePacket = (packet, stream, timeBase, shiftSeconds, stretch = 1) => {
    if (stretch !== 1) {
      packet.pts = BigInt(Math.round(Number(packet.pts) * stretch));
      packet.dts = packet.pts;
    }
    packet.rescaleTs(timeBase, stream.timeBase);
    const shift = BigInt(Math.round((shiftSeconds * stream.timeBase.den) / stream.timeBase.num));
    packet.pts += shift;
    packet.dts += shift;
    packet.streamIndex = stream.index;
    check(output.interleavedWriteFrameSync(packet), 'write packet');
  };
  const tracks: Track[] = [];
  if (recipe.video !== undefined) tracks.push(addVideo(output, recipe, recipe.video, write));
  if (recipe.audio !== undefined) tracks.push(addAudio(output, recipe, recipe.audio, write));
  check(output.openOutputSync(), `open ${path}`);
  const options = Dictionary.fromObject({ fflags: '+bitexact', ...recipe.muxerOptions });
  check(output.writeHeaderSync(options), 'write header');
  options.free();
  for (;;) {
    const track = tracks.reduce((first, other) => (other.next < first.next ? other : first));
    if (track.next === Number.POSITIVE_INFINITY) break;
    track.advance();
  }
  check(output.writeTrailerSync(), 'write trailer');
  output.closeOutputSync();
  output.freeContext();
};
