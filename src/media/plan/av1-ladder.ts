import { av1Codecs } from '../codecs/av1.js';
import { levelRate, type Size } from './ladder.js';
import type { EncoderSettings, VideoPlan, VideoRendition } from './plan.js';

/**
 * A ladder in AV1 that mirrors a plan's own: the same segments, sizes and frames. It is not stored,
 * so assets of every version have it.
 */

const PRESET = '8';
/** For the CRF of H.264 in each quality: SSIM is about the same (docs/decisions/0088). */
const CRF: Readonly<Record<number, number>> = { 23: 38, 21: 35, 19: 32 };
const DEFAULT_CRF = 35;
/** What equal quality takes of the bits of H.264, at most. */
const RATE_SHARE = 0.55;
/** bit/s of the lowest rung: whoever has started with AV1 cannot come down to H.264. */
const MAX_LOWEST_RATE = 395_000;
/** Smaller frames are not for the encoder. */
const MIN_SIDE = 64;

/** Annex A.3 of the AV1 specification: level x 10, samples per frame, width, height, per second. */
const LEVELS = [
  [20, 147_456, 2048, 1152, 4_423_680],
  [21, 278_784, 2816, 1584, 8_363_520],
  [30, 665_856, 4352, 2448, 19_975_680],
  [31, 1_065_024, 5504, 3096, 31_950_720],
  [40, 2_359_296, 6144, 3456, 70_778_880],
  [41, 2_359_296, 6144, 3456, 141_557_760],
  [50, 8_912_896, 8192, 4352, 267_386_880],
  [51, 8_912_896, 8192, 4352, 534_773_760],
  [52, 8_912_896, 8192, 4352, 1_069_547_520],
  [61, 35_651_584, 16_384, 8704, 2_139_095_040],
] as const;

/** The lowest AV1 level (x 10) that allows frames of this size at this rate. */
const av1Level = ({ width, height }: Size, framesPerSecond: number): number => {
  const level = LEVELS.find(
    ([, samples, maxWidth, maxHeight, rate]) =>
      width * height <= samples && width <= maxWidth && height <= maxHeight && width * height * framesPerSecond <= rate,
  );
  return (level ?? LEVELS.at(-1)!)[0];
};

/** The name of the AV1 rung beside a rendition. `<name>-av1` is that of a copied original. */
export const av1Name = (name: string): string => `av1-${name}`;

/** The rungs in the order of `renditions`; none when a frame is too small. */
export const planAv1 = (video: VideoPlan): VideoRendition[] => {
  const { renditions } = video;
  const isPossible = renditions.every(({ width, height }) => Math.min(width, height) >= MIN_SIDE);
  const crf = crfBeside(renditions.find(({ encoder }) => encoder)?.encoder);
  return isPossible ? renditions.map((rendition, rung) => planRung(video, rendition, rung === 0, crf)) : [];
};

const crfBeside = (encoder: EncoderSettings | undefined): number => CRF[encoder?.crf ?? 0] ?? DEFAULT_CRF;

const planRung = (video: VideoPlan, rendition: VideoRendition, isLowest: boolean, crf: number): VideoRendition => {
  const { width, height, frameStep } = rendition;
  const level = av1Level(rendition, levelRate(video, frameStep));
  const share = Math.round(rendition.bandwidth * RATE_SHARE);
  const bandwidth = isLowest ? Math.min(share, MAX_LOWEST_RATE) : share;
  return {
    name: av1Name(rendition.name),
    kind: 'encode',
    width,
    height,
    frameStep,
    codecs: av1Codecs(level),
    bandwidth,
    encoder: { codec: 'av1', preset: PRESET, crf, maxRate: bandwidth, level },
  };
};

/** The plan with its AV1 ladder. */
export const withAv1 = <P extends { readonly video?: VideoPlan }>(plan: P): P =>
  plan.video ? { ...plan, video: { ...plan.video, av1: planAv1(plan.video) } } : plan;
