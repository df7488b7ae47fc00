import { readFileSync, writeFileSync } from 'node:fs';
import {
  AV_CODEC_ID_GIF,
  AV_CODEC_ID_MJPEG,
  AV_CODEC_ID_PNG,
  AV_CODEC_ID_WEBP,
  AV_PIX_FMT_RGBA,
  SWS_ACCURATE_RND,
  SWS_BICUBIC,
} from 'node-av/constants';
import { Codec, CodecContext, type Frame, SoftwareScaleContext } from 'node-av/lib';
import { readImageHeader } from '../media/image-header.js';
import { OVERLAY_HEADER_BYTES, RGBA_BYTES, readOverlayHeader, writeOverlayHeader } from '../media/overlay-file.js';
import { fitOverlay } from '../media/overlay-geometry.js';
import type { OverlayImageJob, OverlayImageResult } from '../pool/protocol.js';
import { check, failMedia, newFrame, newPacket, setOptions } from './av.js';

const CODECS = {
  png: AV_CODEC_ID_PNG,
  jpeg: AV_CODEC_ID_MJPEG,
  webp: AV_CODEC_ID_WEBP,
  gif: AV_CODEC_ID_GIF,
} as const;

/**
 * Decodes an image once and writes its pixels as plain RGBA, no larger than needed, so that no segment has to run an image
 * decoder. Of an animation the first picture counts.
 * @throws KinoraError `media_failed` when it is no image or too large
 */
export const readOverlayImage = (job: OverlayImageJob): OverlayImageResult => {
  const bytes = readFileSync(job.source.path);
  const header = readImageHeader(bytes);
  if (!header) throw failMedia('overlay', 'not a PNG, JPEG, WebP or GIF image');
  if (header.width > job.maxSide || header.height > job.maxSide)
    throw failMedia('overlay', `${header.width}x${header.height} pixels are too many`);
  const decoded = newFrame();
  const stored = newFrame();
  try {
    decodeFirst(bytes, CODECS[header.format], job.maxSide, decoded);
    const natural = { width: decoded.width, height: decoded.height };
    const { width, height } = fitOverlay(natural, job);
    convert(decoded, stored, width, height);
    const file = { natural, stored: { width, height } };
    writeFileSync(job.outPath, Buffer.concat([writeOverlayHeader(file), ...packedRows(stored)]));
    return file;
  } finally {
    decoded.free();
    stored.free();
  }
};

const decodeFirst = (
  bytes: Buffer,
  codecId: (typeof CODECS)[keyof typeof CODECS],
  maxSide: number,
  frame: Frame,
): void => {
  const codec = Codec.findDecoder(codecId);
  if (codec === null) throw failMedia('overlay', 'no decoder');
  const context = new CodecContext();
  const packet = newPacket();
  context.allocContext3(codec);
  try {
    context.threadCount = 1;
    setOptions(context, { max_pixels: maxSide * maxSide });
    check(context.open2Sync(codec, null), 'open decoder');
    // These decoders take a whole file as one packet.
    packet.data = bytes;
    check(context.sendPacketSync(packet), 'decode overlay');
    check(context.sendPacketSync(null), 'decode overlay');
    check(context.receiveFrameSync(frame), 'decode overlay');
    if (frame.width > maxSide || frame.height > maxSide) throw failMedia('overlay', 'its header lied about its size');
  } finally {
    context.freeContext();
    packet.free();
  }
};

const convert = (from: Frame, to: Frame, width: number, height: number): void => {
  to.format = AV_PIX_FMT_RGBA;
  to.width = width;
  to.height = height;
  check(to.allocBuffer(), 'allocate overlay');
  const scaler = new SoftwareScaleContext();
  scaler.getContext(
    from.width,
    from.height,
    from.format as typeof AV_PIX_FMT_RGBA,
    width,
    height,
    AV_PIX_FMT_RGBA,
    (SWS_BICUBIC | SWS_ACCURATE_RND) as typeof SWS_BICUBIC,
  );
  try {
    check(scaler.scaleFrameSync(to, from), 'convert overlay');
  } finally {
    scaler.freeContext();
  }
};

/** Rows without the padding that FFmpeg puts behind them. */
const packedRows = (frame: Frame): Buffer[] => {
  const data = frame.data?.[0];
  const stride = frame.linesize[0];
  if (data === undefined || stride === undefined) throw failMedia('overlay', 'no pixels');
  const rowBytes = frame.width * RGBA_BYTES;
  return Array.from({ length: frame.height }, (_, y) => data.subarray(y * stride, y * stride + rowBytes));
};

/** A picture of stored pixels, for a filter; the caller frees it. */
export const loadOverlayPixels = (path: string): Frame => {
  const bytes = readFileSync(path);
  const file = readOverlayHeader(bytes, bytes.length);
  if (!file) throw failMedia('overlay', 'its stored pixels are damaged');
  const { width, height } = file.stored;
  const frame = newFrame();
  try {
    frame.format = AV_PIX_FMT_RGBA;
    frame.width = width;
    frame.height = height;
    check(frame.allocBuffer(), 'allocate overlay');
    const data = frame.data?.[0];
    const stride = frame.linesize[0];
    if (data === undefined || stride === undefined) throw failMedia('overlay', 'no pixels');
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
