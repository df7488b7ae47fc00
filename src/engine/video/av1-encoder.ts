import {
  AV_CODEC_FLAG_GLOBAL_HEADER,
  AV_PIX_FMT_YUV420P,
  AVCOL_PRI_BT709,
  AVCOL_RANGE_MPEG,
  AVCOL_SPC_BT709,
  AVCOL_TRC_BT709,
  FF_ENCODER_LIBSVTAV1,
} from 'node-av/constants';
import { Rational as AvRational, Codec, CodecContext } from 'node-av/lib';
import { writeAv1c } from '../../media/codecs/av1.js';
import type { EncoderSettings } from '../../media/plan/plan.js';
import type { Rational } from '../../media/source/source-facts.js';
import { check, failMedia, setOptions } from '../ffmpeg/av.js';

interface Av1EncoderSettings {
  readonly width: number;
  readonly height: number;
  readonly frameRate: Rational;
  readonly encoder: Pick<EncoderSettings, 'preset' | 'crf'> & Partial<EncoderSettings>;
  readonly threads: number;
}

/** One key frame, at the start. */
const ONE_KEY_FRAME = 'keyint=-1';

/**
 * With two threads, a segment in 2160p takes 2.05 GB; with one, 1.6 GB. The bytes are the same.
 */
const MAX_PARALLEL_PIXELS = 2560 * 1440;

/** What the encoder accepts; it does not limit the rate, so a true rate would change little. */
const MAX_FRAME_RATE = 240;

/**
 * Opens SVT-AV1. Its rate is not limited: with a limit, what it writes depends on the number of
 * threads and on the scheduler.
 */
export const openAv1Encoder = (settings: Av1EncoderSettings, clock: number): CodecContext => {
  const codec = Codec.findEncoderByName(FF_ENCODER_LIBSVTAV1);
  if (codec === null) throw failMedia('encode', 'libsvtav1 is missing');
  const { encoder, frameRate, threads } = settings;
  const context = new CodecContext();
  context.allocContext3(codec);
  try {
    context.width = settings.width;
    context.height = settings.height;
    context.pixelFormat = AV_PIX_FMT_YUV420P;
    context.sampleAspectRatio = new AvRational(1, 1);
    context.timeBase = new AvRational(1, clock);
    context.framerate = acceptedRate(frameRate);
    context.colorPrimaries = AVCOL_PRI_BT709;
    context.colorTrc = AVCOL_TRC_BT709;
    context.colorSpace = AVCOL_SPC_BT709;
    context.colorRange = AVCOL_RANGE_MPEG;
    context.setFlags(AV_CODEC_FLAG_GLOBAL_HEADER);
    const lp = settings.width * settings.height > MAX_PARALLEL_PIXELS ? 1 : threads;
    const level = encoder.level === undefined ? [] : [`level=${encoder.level}`];
    setOptions(context, {
      preset: encoder.preset,
      crf: encoder.crf,
      'svtav1-params': [ONE_KEY_FRAME, `lp=${lp}`, ...level].join(':'),
    });
    check(context.open2Sync(codec, null), 'open libsvtav1');
  } catch (error) {
    context.freeContext();
    throw error;
  }
  return context;
};

const acceptedRate = ({ num, den }: Rational): AvRational => {
  if (num <= 0) return new AvRational(30, 1);
  return num < den || num > MAX_FRAME_RATE * den
    ? new AvRational(num < den ? 1 : MAX_FRAME_RATE, 1)
    : new AvRational(num, den);
};

/** The av1C record with the sequence header, which Apple's players need there. */
export const readAv1Config = ({ extraData }: CodecContext): Buffer => {
  const record = extraData && writeAv1c(extraData);
  if (!record) throw failMedia('open libsvtav1', 'it gave no sequence header of Main profile');
  return Buffer.from(record);
};
