import { readFileSync, writeFileSync } from 'node:fs';
import {
  AV_CODEC_ID_GIF,
  AV_CODEC_ID_MJPEG,
  AV_CODEC_ID_PNG,
  AV_CODEC_ID_WEBP,
  AV_FRAME_DATA_DISPLAYMATRIX,
  AV_PIX_FMT_RGBA,
} from 'node-av/constants';
import { Codec, CodecContext, type Frame, SoftwareScaleContext } from 'node-av/lib';
import { type FirstFrame, readFirstFrame } from '../../media/image/animated-webp.js';
import { hasWholeFrame } from '../../media/image/gif-blocks.js';
import { readImageHeader } from '../../media/image/header.js';
import { rotatePixels, rotateSize } from '../../media/image/rotate-pixels.js';
import { OVERLAY_HEADER_BYTES, RGBA_BYTES, readOverlayHeader, writeOverlayHeader } from '../../media/overlay/file.js';
import { fitOverlay } from '../../media/overlay/geometry.js';
import type { OverlayImageJob, OverlayImageResult } from '../../pool/protocol.js';
import { check, failMedia, newFrame, newPacket, setOptions } from '../ffmpeg/av.js';
import { orientationOf } from '../ffmpeg/orientation.js';

const CODECS = {
  png: AV_CODEC_ID_PNG,
  jpeg: AV_CODEC_ID_MJPEG,
  webp: AV_CODEC_ID_WEBP,
  gif: AV_CODEC_ID_GIF,
} as const;

/**
 * Decodes an image once and writes its pixels as plain RGBA, no larger than needed, so that
 * segments need no image decoder. For an animation, the first frame is used.
 * @throws KinoraError `media_failed` when it is not an image or too large
 */
export const readOverlayImage = (job: OverlayImageJob): OverlayImageResult => {
  const bytes = readFileSync(job.source.path);
  const header = readImageHeader(bytes);
  if (!header) throw failMedia('overlay', 'not a PNG, JPEG, WebP or GIF image');
  if (header.format === 'gif' && !hasWholeFrame(bytes)) throw failMedia('overlay', 'its first frame is cut off');
  if (header.width > job.maxSide || header.height > job.maxSide)
    throw failMedia('overlay', `${header.width}x${header.height} pixels are too many`);
  const first = header.format === 'webp' ? readFirstFrame(bytes) : undefined;
  using decoded = newFrame();
  using stored = newFrame();
  decodeFirst(first?.file ?? bytes, CODECS[header.format], job.maxSide, decoded);
  // What the camera says of how it was held.
  const orientation = orientationOf(decoded.getSideData(AV_FRAME_DATA_DISPLAYMATRIX));
  if (first) putOnCanvas(decoded, first);
  const natural = rotateSize(decoded, orientation);
  const upright = fitOverlay(natural, job);
  const { width, height } = rotateSize(upright, orientation);
  convert(decoded, stored, width, height);
  const pixels = rotatePixels(packedRows(stored), { width, height }, orientation);
  writeFileSync(job.outPath, Buffer.concat([writeOverlayHeader({ natural, stored: upright }), pixels]));
  return { natural, stored: upright };
};

const decodeFirst = (
  bytes: Buffer,
  codecId: (typeof CODECS)[keyof typeof CODECS],
  maxSide: number,
  frame: Frame,
): void => {
  const codec = Codec.findDecoder(codecId);
  if (codec === null) throw failMedia('overlay', 'no decoder');
  using context = new CodecContext();
  using packet = newPacket();
  context.allocContext3(codec);
  context.threadCount = 1;
  setOptions(context, {
    max_pixels: maxSide * maxSide,
    // Else what is missing of a JPEG file is gray.
    ...(codecId === AV_CODEC_ID_MJPEG && { err_detect: 'explode' }),
  });
  check(context.open2Sync(codec, null), 'open decoder');
  // These decoders take a whole file as one packet.
  packet.data = bytes;
  check(context.sendPacketSync(packet), 'decode overlay');
  check(context.sendPacketSync(null), 'decode overlay');
  check(context.receiveFrameSync(frame), 'decode overlay');
  if (frame.width > maxSide || frame.height > maxSide) throw failMedia('overlay', 'its header lied about its size');
};

/** Places the first frame of an animation on its whole canvas. */
const putOnCanvas = (frame: Frame, { left, top, canvas }: FirstFrame): void => {
  if (left + frame.width > canvas.width || top + frame.height > canvas.height)
    throw failMedia('overlay', 'the first frame does not fit its canvas');
  if (frame.width === canvas.width && frame.height === canvas.height) return;
  using part = newFrame();
  convert(frame, part, frame.width, frame.height);
  const rows = packedRows(part);
  frame.unref();
  allocate(frame, canvas.width, canvas.height);
  const { data, stride } = planeOf(frame);
  data.fill(0);
  const rowBytes = part.width * RGBA_BYTES;
  for (let y = 0; y < part.height; y++)
    rows.copy(data, (top + y) * stride + left * RGBA_BYTES, y * rowBytes, (y + 1) * rowBytes);
};

const allocate = (frame: Frame, width: number, height: number): void => {
  frame.format = AV_PIX_FMT_RGBA;
  frame.width = width;
  frame.height = height;
  check(frame.allocBuffer(), 'allocate overlay');
};

const planeOf = (frame: Frame): { data: Buffer; stride: number } => {
  const data = frame.data?.[0];
  const stride = frame.linesize[0];
  if (data === undefined || stride === undefined) throw failMedia('overlay', 'no pixels');
  return { data, stride };
};

const convert = (from: Frame, to: Frame, width: number, height: number): void => {
  allocate(to, width, height);
  using scaler = new SoftwareScaleContext();
  scaler.allocContext();
  // Sizes, formats and the meaning of the samples come from the frames; that a PNG came in passes
  // does not matter.
  from.flags = 0;
  check(scaler.setOption('sws_flags', 'bicubic+accurate_rnd'), 'convert overlay');
  check(scaler.scaleFrameSync(to, from), 'convert overlay');
};

/** Removes the padding that FFmpeg adds to rows. */
const packedRows = (frame: Frame): Buffer => {
  const { data, stride } = planeOf(frame);
  const rowBytes = frame.width * RGBA_BYTES;
  return Buffer.concat(
    Array.from({ length: frame.height }, (_, y) => data.subarray(y * stride, y * stride + rowBytes)),
  );
};

/** Loads stored pixels as a frame for a filter. The caller frees it. */
export const loadOverlayPixels = (path: string): Frame => {
  const bytes = readFileSync(path);
  const file = readOverlayHeader(bytes, bytes.length);
  if (!file) throw failMedia('overlay', 'its stored pixels are damaged');
  const { width, height } = file.stored;
  const frame = newFrame();
  try {
    allocate(frame, width, height);
    const { data, stride } = planeOf(frame);
    const rowBytes = width * RGBA_BYTES;
    for (let y = 0; y < height; y++) {
      const from = OVERLAY_HEADER_BYTES + y * rowBytes;
      bytes.copy(data, y * stride, from, from + rowBytes);
    }
    return frame;
  } catch (error) {
    frame.free();
    throw error;
  }
};
