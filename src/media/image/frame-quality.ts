/** Measures how suitable a frame is as a thumbnail, using a small copy of it. */

export interface LumaPlane {
  readonly data: Uint8Array;
  /** Bytes from one row to the next. */
  readonly stride: number;
  readonly width: number;
  readonly height: number;
}

/** Each from 0 to 1. */
export interface FrameQuality {
  readonly focus: number;
  readonly contrast: number;
  readonly color: number;
  /** Share of the detail in the central area of the frame, including the thirds. */
  readonly composition: number;
  /** Share of the frame that has detail. */
  readonly detail: number;
  /** 1 where the frame is neither nearly black nor nearly white. */
  readonly exposure: number;
  /** The share of each of `HUES` colors in the frame. */
  readonly palette: readonly number[];
}

/** A frame with its time on the timeline of the asset. */
export interface TimedQuality extends FrameQuality {
  readonly ticks: number;
}

const MEASURES = ['focus', 'contrast', 'color', 'composition', 'detail', 'exposure'] as const;
/** Steps per chroma plane. Odd, so that gray is in the middle of a step. */
const HUE_STEPS = 9;
const HUES = HUE_STEPS ** 2;

/** Checks the result of a media process: undefined unless it has the form of `count` frames. */
export const readQualities = (frames: unknown, count: number): TimedQuality[] | undefined => {
  if (!Array.isArray(frames) || frames.length !== count) return undefined;
  const isShare = (value: unknown): boolean => typeof value === 'number' && value >= 0 && value <= 1;
  const isQuality = (frame: TimedQuality | null): boolean =>
    frame !== null &&
    Number.isFinite(frame.ticks) &&
    frame.ticks >= 0 &&
    MEASURES.every((name) => isShare(frame[name])) &&
    Array.isArray(frame.palette) &&
    frame.palette.length === HUES &&
    frame.palette.every(isShare);
  return frames.every(isQuality) ? frames : undefined;
};

/** Values at which a measure reaches 1, taken from photographs and screen recordings. */
const FULL_LAPLACIAN = 24;
const FULL_DEVIATION = 64;
const FULL_CHROMA = 36;
const EDGE = 12;
const DARK = 40;
const BRIGHT = 215;

const clamp = (value: number): number => Math.min(Math.max(value, 0), 1);

export const measureFrame = (luma: LumaPlane, chroma: readonly [LumaPlane, LumaPlane]): FrameQuality => {
  const { data, stride, width, height } = luma;
  let sum = 0;
  let squares = 0;
  let edges = 0;
  let central = 0;
  let laplacians = 0;
  for (let y = 1; y < height - 1; y += 1) {
    for (let x = 1; x < width - 1; x += 1) {
      const at = y * stride + x;
      const value = data[at]!;
      sum += value;
      squares += value * value;
      const laplacian = Math.abs(4 * value - data[at - 1]! - data[at + 1]! - data[at - stride]! - data[at + stride]!);
      laplacians += laplacian;
      if (laplacian < EDGE) continue;
      edges += 1;
      if (x > width / 4 && x < (3 * width) / 4 && y > height / 5 && y < (4 * height) / 5) central += 1;
    }
  }
  const samples = (width - 2) * (height - 2);
  const mean = sum / samples;
  const deviation = Math.sqrt(Math.max(squares / samples - mean * mean, 0));
  const share = edges === 0 ? 0 : central / edges;
  const exposure = mean < DARK ? mean / DARK : mean > BRIGHT ? (255 - mean) / (255 - BRIGHT) : 1;
  return {
    focus: clamp(laplacians / samples / FULL_LAPLACIAN),
    contrast: clamp(deviation / FULL_DEVIATION),
    color: clamp(meanChroma(chroma) / FULL_CHROMA),
    composition: clamp(share * 1.5),
    detail: clamp((edges / samples) * 2),
    exposure: clamp(exposure),
    palette: paletteOf(chroma),
  };
};

const paletteOf = ([u, v]: readonly [LumaPlane, LumaPlane]): number[] => {
  const counts = new Array<number>(HUES).fill(0);
  const step = (value: number): number => Math.round((value / 255) * (HUE_STEPS - 1));
  for (let y = 0; y < u.height; y += 1)
    for (let x = 0; x < u.width; x += 1)
      counts[step(u.data[y * u.stride + x]!) * HUE_STEPS + step(v.data[y * v.stride + x]!)]! += 1;
  return counts.map((count) => count / Math.max(u.width * u.height, 1));
};

const NEUTRAL = 128;

const meanChroma = (planes: readonly LumaPlane[]): number => {
  let sum = 0;
  let samples = 0;
  for (const { data, stride, width, height } of planes)
    for (let y = 0; y < height; y += 1)
      for (let x = 0; x < width; x += 1) {
        sum += Math.abs(data[y * stride + x]! - NEUTRAL);
        samples += 1;
      }
  return samples === 0 ? 0 : sum / samples;
};

/** The typical colors of a video: the mean of its frames. */
export const lookOf = (frames: readonly Pick<FrameQuality, 'palette'>[]): number[] =>
  Array.from(
    { length: HUES },
    (_, hue) => frames.reduce((sum, { palette }) => sum + palette[hue]!, 0) / Math.max(frames.length, 1),
  );

/**
 * The names are those of the API response. The look of the brand is unknown, so `brand_fit` is the
 * share of colors that a frame has in common with its video.
 */
export const thumbnailScores = (quality: FrameQuality, look: readonly number[]) => {
  const subscores = {
    brand_fit: clamp(quality.palette.reduce((sum, share, hue) => sum + Math.min(share, look[hue]!), 0)),
    composition: quality.composition,
    contrast_color: clamp(0.6 * quality.contrast + 0.4 * quality.color),
    face_or_action: quality.detail,
    focus: quality.focus,
  };
  const { brand_fit: fit, focus, contrast_color: contrastColor, composition, face_or_action: detail } = subscores;
  const overall =
    (0.3 * focus + 0.3 * contrastColor + 0.15 * composition + 0.15 * detail + 0.1 * fit) * quality.exposure;
  return { overall, subscores };
};

interface Candidate {
  readonly seconds: number;
  readonly overall: number;
}

/** The best candidates that are far enough apart, best first. */
export const pickBest = <T extends Candidate>(candidates: readonly T[], count: number, apartSeconds: number): T[] => {
  const picked: T[] = [];
  for (const candidate of [...candidates].sort((a, b) => b.overall - a.overall || a.seconds - b.seconds)) {
    if (picked.length === count) break;
    if (picked.every(({ seconds }) => Math.abs(seconds - candidate.seconds) >= apartSeconds)) picked.push(candidate);
  }
  return picked;
};

/** Times to sample: the middles of equal parts, which avoids fades at both ends. */
export const sampleTimes = (startSeconds: number, endSeconds: number, count: number): number[] =>
  Array.from({ length: count }, (_, at) => startSeconds + ((at + 0.5) * (endSeconds - startSeconds)) / count);
