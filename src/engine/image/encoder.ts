import {
  AV_CODEC_FLAG_BITEXACT,
  AV_PIX_FMT_RGB24,
  AV_PIX_FMT_YUV420P,
  AVCOL_RANGE_JPEG,
  AVCOL_RANGE_MPEG,
  AVCOL_SPC_SMPTE170M,
} from 'node-av/constants';
import { Rational as AvRational, Codec, CodecContext, type Frame } from 'node-av/lib';
import type { StillFormat } from '../../pool/protocol.js';
import { check, failMedia, newPacket, setOptions } from '../ffmpeg/av.js';

/**
 * The colors of stills: JFIF and WebP imply BT.601, JFIF in full range and WebP in limited range.
 */
export const STILL_COLORS: Readonly<Record<StillFormat, { scale: string; work: string; pixels: string }>> = {
  // `work` has a color sample for every pixel, so cropping and rotating are not limited to even
  // numbers.
  jpg: { scale: 'out_color_matrix=smpte170m:out_range=pc', work: 'yuv444p', pixels: 'yuv420p' },
  webp: { scale: 'out_color_matrix=smpte170m:out_range=tv', work: 'yuv444p', pixels: 'yuv420p' },
  png: { scale: 'out_range=pc', work: 'rgb24', pixels: 'rgb24' },
};

const ENCODERS = {
  // A fixed quantizer, with good quality for images that viewers look at for long.
  jpg: { name: 'mjpeg', options: { qmin: 3, qmax: 3 } },
  png: { name: 'png', options: { compression_level: 6, pred: 'mixed' } },
  webp: { name: 'libwebp', options: { quality: 82, compression_level: 4 } },
} as const;

/** Encodes the frame, which must have the colors of `STILL_COLORS`, as an image file. */
export const encodeStill = (frame: Frame, format: StillFormat): Buffer => {
  const { name, options } = ENCODERS[format];
  const codec = Codec.findEncoderByName(name as never);
  if (codec === null) throw failMedia('encode', `${name} is missing`);
  using context = new CodecContext();
  using packet = newPacket();
  context.allocContext3(codec);
  context.width = frame.width;
  context.height = frame.height;
  context.pixelFormat = format === 'png' ? AV_PIX_FMT_RGB24 : AV_PIX_FMT_YUV420P;
  context.colorRange = format === 'webp' ? AVCOL_RANGE_MPEG : AVCOL_RANGE_JPEG;
  if (format !== 'png') context.colorSpace = AVCOL_SPC_SMPTE170M;
  context.sampleAspectRatio = new AvRational(1, 1);
  context.timeBase = new AvRational(1, 1);
  context.threadCount = 1;
  // Without the name and version of the encoder in the file.
  context.setFlags(AV_CODEC_FLAG_BITEXACT);
  setOptions(context, options);
  check(context.open2Sync(codec, null), `open ${name}`);
  frame.pts = 0n;
  check(context.sendFrameSync(frame), 'encode frame');
  check(context.sendFrameSync(null), 'encode frame');
  check(context.receivePacketSync(packet), 'encode frame');
  if (packet.data === null) throw failMedia('encode', 'a packet without data');
  return Buffer.from(packet.data);
};
