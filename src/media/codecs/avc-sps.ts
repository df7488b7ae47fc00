import { BitReader } from './bit-reader.js';

/** Profiles whose SPS contains the chroma format. */
export const HIGH_PROFILES = new Set([100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135]);

export const skipScalingLists = (reader: BitReader, lists: number): void => {
  for (let list = 0; list < lists; list++) {
    if (!reader.flag()) continue;
    let last = 8;
    let next = 8;
    for (let index = 0; index < (list < 6 ? 16 : 64); index++) {
      if (next !== 0) next = (last + reader.signed() + 256) % 256;
      last = next === 0 ? last : next;
    }
  }
};

/** What a sequence parameter set of H.264 says about the frames (ITU-T H.264, 7.3.2.1.1, E.1). */
export interface AvcSequence {
  /** By which picture parameter sets refer to it. */
  readonly id: number;
  /** After cropping. */
  readonly width: number;
  readonly height: number;
  /** 1 is 4:2:0. */
  readonly chromaFormat: number;
  /** Of luma. */
  readonly bitDepth: number;
  readonly isInterlaced: boolean;
  readonly hasSquarePixels: boolean;
  /** Frames per second as a fraction; absent when the VUI has no timing. */
  readonly frameRate?: { readonly num: number; readonly den: number };
  /** How many frames may precede one in decoding that follow it in display; absent if not said. */
  readonly reorderFrames?: number;
}

const SQUARE_PIXELS = 1;
const EXTENDED_ASPECT = 255;

/** Undefined when the unit, which begins with the NAL header, is damaged. */
export const readAvcSequence = (unit: Uint8Array): AvcSequence | undefined => {
  const reader = new BitReader(unit, 1);
  try {
    const sequence = readSequence(reader);
    return reader.isPastEnd || sequence.width <= 0 || sequence.height <= 0 ? undefined : sequence;
  } catch {
    // A number without an end.
    return undefined;
  }
};

const readSequence = (reader: BitReader): AvcSequence => {
  const profile = reader.bits(8);
  reader.bits(16);
  const id = reader.unsigned();
  const { chromaFormat, bitDepth } = HIGH_PROFILES.has(profile) ? readChroma(reader) : { chromaFormat: 1, bitDepth: 8 };
  reader.unsigned();
  const orderCountType = reader.unsigned();
  if (orderCountType === 0) reader.unsigned();
  else if (orderCountType === 1) {
    reader.flag();
    reader.signed();
    reader.signed();
    const cycle = reader.unsigned();
    for (let index = 0; index < cycle && !reader.isPastEnd; index++) reader.signed();
  }
  reader.unsigned();
  reader.flag();
  const widthUnits = reader.unsigned() + 1;
  const heightUnits = reader.unsigned() + 1;
  const isInterlaced = !reader.flag();
  if (isInterlaced) reader.flag();
  reader.flag();
  const crop = reader.flag() ? [0, 0, 0, 0].map(() => reader.unsigned()) : [0, 0, 0, 0];
  const [left, right, top, bottom] = crop as [number, number, number, number];
  const fieldFactor = isInterlaced ? 2 : 1;
  const cropX = chromaFormat === 1 || chromaFormat === 2 ? 2 : 1;
  const cropY = (chromaFormat === 1 ? 2 : 1) * fieldFactor;
  return {
    id,
    width: widthUnits * 16 - cropX * (left + right),
    height: heightUnits * 16 * fieldFactor - cropY * (top + bottom),
    chromaFormat,
    bitDepth,
    isInterlaced,
    ...(reader.flag() ? readUsability(reader) : { hasSquarePixels: true }),
  };
};

const readChroma = (reader: BitReader): { chromaFormat: number; bitDepth: number } => {
  const chromaFormat = reader.unsigned();
  if (chromaFormat === 3) reader.flag();
  const bitDepth = reader.unsigned() + 8;
  reader.unsigned();
  reader.flag();
  if (reader.flag()) skipScalingLists(reader, chromaFormat === 3 ? 12 : 8);
  return { chromaFormat, bitDepth };
};

/** Video usability information (E.1.1). */
const readUsability = (reader: BitReader): Pick<AvcSequence, 'hasSquarePixels' | 'frameRate' | 'reorderFrames'> => {
  const hasSquarePixels = readAspect(reader);
  if (reader.flag()) reader.flag();
  if (reader.flag()) {
    reader.bits(4);
    if (reader.flag()) reader.bits(24);
  }
  if (reader.flag()) {
    reader.unsigned();
    reader.unsigned();
  }
  const frameRate = readTiming(reader);
  const hasParameters = [skipBuffering(reader), skipBuffering(reader)].includes(true);
  if (hasParameters) reader.flag();
  reader.flag();
  if (!reader.flag()) return { hasSquarePixels, ...frameRate };
  reader.flag();
  for (let field = 0; field < 4; field += 1) reader.unsigned();
  const reorderFrames = reader.unsigned();
  return { hasSquarePixels, ...frameRate, ...(reorderFrames <= 16 && { reorderFrames }) };
};

const readAspect = (reader: BitReader): boolean => {
  if (!reader.flag()) return true;
  const aspect = reader.bits(8);
  if (aspect !== EXTENDED_ASPECT) return aspect === 0 || aspect === SQUARE_PIXELS;
  const [width, height] = [reader.bits(16), reader.bits(16)];
  return width === height || width === 0 || height === 0;
};

const readTiming = (reader: BitReader): Pick<AvcSequence, 'frameRate'> => {
  if (!reader.flag()) return {};
  const ticksPerField = reader.bits(32);
  const timescale = reader.bits(32);
  reader.flag();
  return ticksPerField > 0 && timescale > 0 ? { frameRate: { num: timescale, den: 2 * ticksPerField } } : {};
};

/** Hypothetical reference decoder parameters (E.1.2); false when there are none. */
const skipBuffering = (reader: BitReader): boolean => {
  if (!reader.flag()) return false;
  const count = reader.unsigned() + 1;
  reader.bits(8);
  for (let index = 0; index < count && !reader.isPastEnd; index++) {
    reader.unsigned();
    reader.unsigned();
    reader.flag();
  }
  reader.bits(20);
  return true;
};
