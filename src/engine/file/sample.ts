import { statSync } from 'node:fs';
import {
  AV_CODEC_FLAG_GLOBAL_HEADER,
  AV_PICTURE_TYPE_NONE,
  AV_PIX_FMT_YUV420P,
  AV_SAMPLE_FMT_FLTP,
  AVCOL_PRI_BT709,
  AVCOL_RANGE_MPEG,
  AVCOL_SPC_BT709,
  AVCOL_TRC_BT709,
  FF_ENCODER_AAC,
  FF_ENCODER_LIBX264,
} from 'node-av/constants';
import {
  avChannelLayoutDefault,
  Codec,
  CodecContext,
  Dictionary,
  FormatContext,
  type Frame,
  Rational,
  type Stream,
} from 'node-av/lib';
import type { SampleJob } from '../../pool/protocol.js';
import { audioFrame } from '../audio/reader.js';
import { check, failMedia, isDrained, newPacket, setOptions } from '../ffmpeg/av.js';
import { MediaFilter } from '../ffmpeg/media-filter.js';
import type { HandlerContext } from '../ipc/serve-jobs.js';
import {
  fillDisc,
  fillRectangle,
  type LumaPlane,
  paintCounter,
  paintDigits,
  textWidth,
} from '../video/test-pattern.js';

const FRAME_RATE = 30;
const SAMPLE_RATE = 48_000;
const AUDIO_FRAME = 1024;
/** A flash and a beep begin at each full second. */
const MARK_SECONDS = 0.1;
const BEEP_HERTZ = 1000;
/** Closed groups of two seconds, so that a rung can be cut without encoding. */
const GOP_FRAMES = 2 * FRAME_RATE;

/**
 * Writes a video with a frame counter, a clock and a beep each second: H.264 High and AAC in MP4,
 * index first.
 * @throws KinoraError `media_failed`
 */
export const encodeSample = (job: SampleJob, context: HandlerContext): { sizeBytes: number } => {
  const output = new FormatContext();
  check(output.allocOutputContext2(null, 'mp4', job.outPath), 'sample file');
  const packet = newPacket();
  using background = openFrames(job);
  const video = openVideoEncoder(job);
  const audio = openAudioEncoder();
  try {
    const tracks = [addTrack(output, video), addTrack(output, audio)] as const;
    check(output.openOutputSync(), 'sample file');
    const options = Dictionary.fromObject({ movflags: '+faststart' });
    check(output.writeHeaderSync(options), 'sample file');
    options.free();
    const encode = (encoder: CodecContext, stream: Stream, frame: Frame | null): void => {
      check(encoder.sendFrameSync(frame), 'encode sample');
      for (;;) {
        const code = encoder.receivePacketSync(packet);
        if (isDrained(code)) return;
        check(code, 'encode sample');
        packet.rescaleTs(encoder.timeBase, stream.timeBase);
        packet.streamIndex = stream.index;
        check(output.interleavedWriteFrameSync(packet), 'write sample');
      }
    };
    const frames = job.seconds * FRAME_RATE;
    const samples = job.seconds * SAMPLE_RATE;
    let sample = 0;
    for (let frame = 0; frame < frames; frame++) {
      background.pull((out) => {
        check(out.makeWritable(), 'sample frame');
        out.pictType = AV_PICTURE_TYPE_NONE; // the source filter marks every frame as a key frame
        paintMarks(out, job, frame);
        encode(video, tracks[0], out);
      });
      for (; sample < samples && sample * FRAME_RATE < (frame + 1) * SAMPLE_RATE; sample += AUDIO_FRAME) {
        const samplesFrame = makeAudio(sample, Math.min(AUDIO_FRAME, samples - sample));
        encode(audio, tracks[1], samplesFrame);
        samplesFrame.free();
      }
      context.progress(frame / frames);
    }
    encode(video, tracks[0], null);
    encode(audio, tracks[1], null);
    check(output.writeTrailerSync(), 'write sample');
  } finally {
    output.closeOutputSync();
    output.freeContext();
    packet.free();
    video.freeContext();
    audio.freeContext();
  }
  return { sizeBytes: statSync(job.outPath).size };
};

const addTrack = (output: FormatContext, encoder: CodecContext): Stream => {
  const stream = output.newStream(null);
  stream.timeBase = encoder.timeBase;
  stream.avgFrameRate = encoder.framerate; // otherwise the last frame has no duration in the file
  check(stream.codecpar.fromContext(encoder), 'sample track');
  return stream;
};

/**
 * The moving background and the panel, made at an eighth of the size, which is enough for soft
 * colors and edges.
 */
const openFrames = ({ width, height }: SampleJob): MediaFilter => {
  const panel = panelOf(even(width / 8), even(height / 8));
  const box = `x=${panel.left}:y=${panel.top}:w=${panel.width}:h=${panel.height}`;
  const chain = [
    `gradients=size=${even(width / 8)}x${even(height / 8)}:rate=${FRAME_RATE}:seed=7:speed=0.012:nb_colors=5`,
    'c0=0x12355b:c1=0x1c6e9c:c2=0x2a9d8f:c3=0x7a4fa3:c4=0x1b1f4b:type=linear',
  ].join(':');
  const filters = [
    chain,
    'scale=out_color_matrix=bt709:out_range=tv,format=yuv420p',
    `drawbox=${box}:color=black@0.55:t=fill`,
    `scale=${width}:${height}:flags=bilinear`,
    'setparams=color_primaries=bt709:color_trc=bt709:colorspace=bt709:range=tv',
    // The counter bars are painted in luma only, so the area must have no color.
    `drawbox=x=0:y=0:w=${width}:h=${even(height / 12)}:color=black:t=fill`,
    'buffersink@out',
  ].join(',');
  return new MediaFilter(filters, { operation: 'sample frame' });
};

const even = (value: number): number => Math.round(value / 2) * 2;

const panelOf = (width: number, height: number): { left: number; top: number; width: number; height: number } => ({
  left: even(width * 0.14),
  top: even(height * 0.3),
  width: even(width * 0.72),
  height: even(height * 0.42),
});

const WHITE = 235;
const DIM = 70;

/**
 * Counter bars, clock, frame number, a hand that turns once a second, a flash and a progress line.
 */
const paintMarks = (frame: Frame, { width, height, seconds }: SampleJob, number: number): void => {
  const data = frame.data?.[0];
  if (data === undefined) throw failMedia('sample frame', 'no video');
  const plane: LumaPlane = { data, stride: frame.linesize[0] ?? width, width, height };
  paintCounter(plane, number);

  const panel = panelOf(width, height);
  const dialX = panel.left + panel.height * 0.5;
  const dialY = panel.top + panel.height * 0.5;
  const radius = panel.height * 0.36;
  const phase = number % FRAME_RATE;
  for (let dot = 0; dot < FRAME_RATE; dot++) {
    const angle = (2 * Math.PI * dot) / FRAME_RATE;
    const age = (phase - dot + FRAME_RATE) % FRAME_RATE;
    const value = Math.max(DIM, WHITE - age * 14);
    const size = age === 0 ? height / 60 : height / 110;
    fillDisc(plane, dialX + radius * Math.sin(angle), dialY - radius * Math.cos(angle), size, value);
  }
  fillDisc(plane, dialX, dialY, radius * 0.55, phase < MARK_SECONDS * FRAME_RATE ? WHITE : DIM / 2);

  const left = panel.left + panel.height * 1.05;
  const right = panel.left + panel.width - panel.height * 0.14;
  const clock = clockText(number);
  const clockHeight = (right - left) / textWidth(clock);
  paintDigits(plane, clock, left, panel.top + panel.height * 0.16, clockHeight);
  paintDigits(plane, String(number).padStart(5, '0'), left, panel.top + panel.height * 0.62, clockHeight * 0.62, 160);

  const lineTop = height * 0.86;
  const lineLeft = panel.left;
  const lineHeight = height / 180;
  fillRectangle(plane, lineLeft, lineTop, panel.width, lineHeight, DIM);
  fillRectangle(plane, lineLeft, lineTop, (panel.width * (number + 1)) / (seconds * FRAME_RATE), lineHeight, WHITE);
  for (let second = 0; second <= seconds; second++) {
    const passed = second * FRAME_RATE <= number;
    const x = lineLeft + (panel.width * second) / seconds;
    fillRectangle(
      plane,
      x - lineHeight / 2,
      lineTop - lineHeight * 2,
      lineHeight,
      lineHeight * 5,
      passed ? WHITE : DIM,
    );
  }
};

/** minutes:seconds.hundredths */
const clockText = (number: number): string => {
  const hundredths = Math.floor((number * 100) / FRAME_RATE);
  const pad = (value: number): string => String(value).padStart(2, '0');
  return `${pad(Math.floor(hundredths / 6000))}:${pad(Math.floor(hundredths / 100) % 60)}.${pad(hundredths % 100)}`;
};

const openVideoEncoder = ({ width, height }: SampleJob): CodecContext => {
  const codec = Codec.findEncoderByName(FF_ENCODER_LIBX264);
  if (codec === null) throw failMedia('encode sample', 'no H.264 encoder');
  const encoder = new CodecContext();
  encoder.allocContext3(codec);
  encoder.width = width;
  encoder.height = height;
  encoder.pixelFormat = AV_PIX_FMT_YUV420P;
  encoder.timeBase = new Rational(1, FRAME_RATE);
  encoder.framerate = new Rational(FRAME_RATE, 1);
  encoder.sampleAspectRatio = new Rational(1, 1);
  encoder.colorRange = AVCOL_RANGE_MPEG;
  encoder.colorPrimaries = AVCOL_PRI_BT709;
  encoder.colorTrc = AVCOL_TRC_BT709;
  encoder.colorSpace = AVCOL_SPC_BT709;
  encoder.gopSize = GOP_FRAMES;
  encoder.maxBFrames = 2;
  encoder.threadCount = 2;
  encoder.setFlags(AV_CODEC_FLAG_GLOBAL_HEADER);
  setOptions(encoder, {
    preset: 'superfast',
    profile: 'high',
    crf: 22,
    maxrate: 2_500_000,
    bufsize: 2_500_000,
    'x264-params': 'scenecut=0:open-gop=0',
  });
  check(encoder.open2Sync(codec, null), 'open H.264 encoder');
  return encoder;
};

const openAudioEncoder = (): CodecContext => {
  const codec = Codec.findEncoderByName(FF_ENCODER_AAC);
  if (codec === null) throw failMedia('encode sample', 'no AAC encoder');
  const encoder = new CodecContext();
  encoder.allocContext3(codec);
  encoder.sampleRate = SAMPLE_RATE;
  encoder.sampleFormat = AV_SAMPLE_FMT_FLTP;
  encoder.channelLayout = avChannelLayoutDefault(2);
  encoder.timeBase = new Rational(1, SAMPLE_RATE);
  encoder.bitRate = 128_000n;
  encoder.setFlags(AV_CODEC_FLAG_GLOBAL_HEADER);
  check(encoder.open2Sync(codec, null), 'open AAC encoder');
  return encoder;
};

/** The beep, with soft edges of 5 ms so that it does not click, and silence between beeps. */
const makeAudio = (from: number, count: number): Frame => {
  const samples = Float32Array.from({ length: count }, (_, i) => {
    const seconds = ((from + i) % SAMPLE_RATE) / SAMPLE_RATE;
    if (seconds >= MARK_SECONDS) return 0;
    const edge = Math.min(1, seconds / 0.005, (MARK_SECONDS - seconds) / 0.005);
    return 0.3 * edge * Math.sin(2 * Math.PI * BEEP_HERTZ * seconds);
  });
  const frame = audioFrame([samples, samples], 0, count, SAMPLE_RATE);
  frame.pts = BigInt(from);
  return frame;
};
