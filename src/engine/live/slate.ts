import { writeFileSync } from 'node:fs';
import {
  AV_PIX_FMT_YUV420P,
  AVCOL_PRI_BT709,
  AVCOL_RANGE_MPEG,
  AVCOL_SPC_BT709,
  AVCOL_TRC_BT709,
} from 'node-av/constants';
import type { Frame } from 'node-av/lib';
import { LIVE_TIMESCALE } from '../../media/live/frame-grid.js';
import { RGBA_BYTES } from '../../media/overlay/file.js';
import type { SlateJob, SlateResult } from '../../pool/protocol.js';
import { check, cloneFrame, failMedia, newFrame } from '../ffmpeg/av.js';
import { MediaFilter } from '../ffmpeg/media-filter.js';
import { FragmentEncoder, type FragmentEncoderSettings, readEncoderConfig } from '../video/fragment-encoder.js';
import { loadOverlayPixels } from '../video/overlay-image.js';
import { fillDisc, type LumaPlane } from '../video/test-pattern.js';

const ENCODER = { preset: 'veryfast', crf: 20, bFrames: 0 } as const;
/** Limits the key frame of an image with much detail, which viewers get every two seconds. */
const BITS_PER_PIXEL_AND_SECOND = 3;
const OPAQUE = 255;

/** @throws KinoraError `media_failed` */
export const encodeSlate = async (job: SlateJob): Promise<SlateResult> => {
  const { width, height, frameRate, frames, profile, parameterSetId, outPath } = job;
  const settings: FragmentEncoderSettings = {
    ...{ width, height, frameRate, profile, parameterSetId },
    encoder: { ...ENCODER, maxRate: width * height * BITS_PER_PIXEL_AND_SECOND },
    timescale: LIVE_TIMESCALE,
    threads: 1,
  };
  using image = job.imagePath === undefined ? drawDefault(job) : fitImage(job, job.imagePath);
  const ticksAt = (frame: number): number => Math.round((frame * LIVE_TIMESCALE * frameRate.den) / frameRate.num);
  const encoder = new FragmentEncoder(settings);
  try {
    for (let frame = 0; frame < frames; frame += 1) {
      encoder.add(image, ticksAt(frame));
      await encoder.ready();
    }
    const { bytes } = await encoder.finish({ sequence: 1, startTicks: 0, endTicks: ticksAt(frames) });
    writeFileSync(outPath, bytes);
  } finally {
    await encoder.close();
  }
  return { avcc: readEncoderConfig(settings).toString('base64') };
};

const BACKGROUND = 30;
const DOTS = [90, 130, 170];
const NO_COLOR = 128;

/** Three dots on a dark ground: a sign for waiting that needs no language. */
const drawDefault = ({ width, height }: SlateJob): Frame => {
  const frame = newFrame();
  try {
    frame.format = AV_PIX_FMT_YUV420P;
    frame.width = width;
    frame.height = height;
    frame.colorPrimaries = AVCOL_PRI_BT709;
    frame.colorTrc = AVCOL_TRC_BT709;
    frame.colorSpace = AVCOL_SPC_BT709;
    frame.colorRange = AVCOL_RANGE_MPEG;
    check(frame.allocBuffer(), 'allocate slate');
    const [luma, ...chroma] = frame.data ?? [];
    if (!luma || chroma.length < 2) throw failMedia('slate', 'no frame');
    luma.fill(BACKGROUND);
    for (const plane of chroma) plane.fill(NO_COLOR);
    const plane: LumaPlane = { data: luma, stride: frame.linesize[0]!, width, height };
    const side = Math.min(width, height);
    for (const [dot, value] of DOTS.entries())
      fillDisc(plane, width / 2 + (dot - 1) * side * 0.12, height / 2, side * 0.035, value);
    return frame;
  } catch (error) {
    frame.free();
    throw error;
  }
};

/** The image as large as the frame allows, on black. */
const fitImage = ({ width, height }: SlateJob, path: string): Frame => {
  using image = loadOverlayPixels(path);
  darken(image);
  const chain = [
    `buffer@in=video_size=${image.width}x${image.height}:pix_fmt=rgba:time_base=1/1:pixel_aspect=1/1`,
    `scale=${width}:${height}:force_original_aspect_ratio=decrease:flags=lanczos+accurate_rnd+full_chroma_int`,
    `pad=${width}:${height}:-1:-1:black`,
    'scale=out_color_matrix=bt709:out_range=tv:flags=accurate_rnd',
    'format=yuv420p',
    'setparams=color_primaries=bt709:color_trc=bt709:colorspace=bt709:range=tv',
    'buffersink@out',
  ].join(',');
  let fitted: Frame | undefined;
  using filter = new MediaFilter(chain, { operation: 'slate', threads: 1 });
  filter.push(image, (frame) => {
    fitted ??= cloneFrame(frame);
  });
  if (!fitted) throw failMedia('slate', 'no frame');
  return fitted;
};

/** Transparent pixels let the black through. */
const darken = (image: Frame): void => {
  const [data] = image.data ?? [];
  if (!data) throw failMedia('slate', 'no pixels');
  const stride = image.linesize[0]!;
  for (let y = 0; y < image.height; y += 1)
    for (let at = y * stride; at < y * stride + image.width * RGBA_BYTES; at += RGBA_BYTES) {
      const alpha = data[at + 3]!;
      if (alpha === OPAQUE) continue;
      for (let color = at; color < at + 3; color += 1) data[color] = Math.round((data[color]! * alpha) / OPAQUE);
    }
};
