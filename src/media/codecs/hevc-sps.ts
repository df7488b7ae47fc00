import { BitReader } from './bit-reader.js';

/** What a sequence parameter set of HEVC says about the frames (ITU-T H.265, 7.3.2.2, E.2.1). */
export interface HevcSequence {
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
  /** How many frames may precede one in decoding that follow it in display. */
  readonly reorderFrames: number;
}

const HEADER_BYTES = 2;
const EXTENDED_ASPECT = 255;
const SQUARE_PIXELS = 1;
const MAX_SETS = 64;
/** Of a reference picture set, in either direction (7.4.8). */
const MAX_REFERENCES = 16;

/** Undefined when the unit, which begins with the NAL header, is damaged. */
export const readHevcSequence = (unit: Uint8Array): HevcSequence | undefined => {
  const reader = new BitReader(unit, HEADER_BYTES);
  try {
    const sequence = readSequence(reader);
    return reader.isPastEnd || sequence.width <= 0 || sequence.height <= 0 ? undefined : sequence;
  } catch {
    // A number without an end, or more sets than there can be.
    return undefined;
  }
};

const readSequence = (reader: BitReader): HevcSequence => {
  reader.bits(4);
  const subLayers = reader.bits(3);
  reader.flag();
  const isProgressive = readProfile(reader, subLayers);
  reader.unsigned();
  const chromaFormat = reader.unsigned();
  if (chromaFormat === 3) reader.flag();
  const [codedWidth, codedHeight] = [reader.unsigned(), reader.unsigned()];
  const crop = reader.flag() ? [0, 0, 0, 0].map(() => reader.unsigned()) : [0, 0, 0, 0];
  const [left, right, top, bottom] = crop as [number, number, number, number];
  const cropX = chromaFormat === 1 || chromaFormat === 2 ? 2 : 1;
  const cropY = chromaFormat === 1 ? 2 : 1;
  const bitDepth = reader.unsigned() + 8;
  reader.unsigned();
  const orderBits = reader.unsigned() + 4;
  let reorderFrames = 0;
  for (let layer = reader.flag() ? 0 : subLayers; layer <= subLayers; layer += 1) {
    reader.unsigned();
    reorderFrames = reader.unsigned();
    reader.unsigned();
  }
  skipCodingTools(reader, orderBits);
  return {
    width: codedWidth - cropX * (left + right),
    height: codedHeight - cropY * (top + bottom),
    chromaFormat,
    bitDepth,
    isInterlaced: !isProgressive,
    reorderFrames,
    ...(reader.flag() ? readUsability(reader) : { hasSquarePixels: true }),
  };
};

/** `profile_tier_level` (7.3.3). @returns whether the frames are not known to be interlaced */
const readProfile = (reader: BitReader, subLayers: number): boolean => {
  reader.bits(8 + 32);
  const [isProgressive, isInterlaced] = [reader.flag(), reader.flag()];
  reader.bits(46);
  reader.bits(8);
  const present = Array.from({ length: subLayers }, () => ({ profile: reader.flag(), level: reader.flag() }));
  if (subLayers > 0) reader.bits(2 * (8 - subLayers));
  for (const { profile, level } of present) {
    if (profile) reader.bits(88);
    if (level) reader.bits(8);
  }
  return isProgressive || !isInterlaced;
};

const skipCodingTools = (reader: BitReader, orderBits: number): void => {
  for (let field = 0; field < 6; field += 1) reader.unsigned();
  if (reader.flag() && reader.flag()) skipScalingLists(reader);
  reader.bits(2);
  if (reader.flag()) {
    reader.bits(8);
    reader.unsigned();
    reader.unsigned();
    reader.flag();
  }
  skipReferenceSets(reader);
  if (reader.flag()) {
    const count = reader.unsigned();
    for (let index = 0; index < count && !reader.isPastEnd; index += 1) reader.bits(orderBits + 1);
  }
  reader.bits(2);
};

/** `scaling_list_data` (7.3.4). */
const skipScalingLists = (reader: BitReader): void => {
  for (let size = 0; size < 4; size += 1) {
    for (let matrix = 0; matrix < 6; matrix += size === 3 ? 3 : 1) {
      if (!reader.flag()) {
        reader.unsigned();
        continue;
      }
      if (size > 1) reader.signed();
      for (let index = 0; index < Math.min(64, 16 << (2 * size)); index += 1) reader.signed();
    }
  }
};

/** `st_ref_pic_set` of all sets (7.3.7): a set may be told as a difference to the one before. */
const skipReferenceSets = (reader: BitReader): void => {
  const count = reader.unsigned();
  if (count > MAX_SETS) throw new Error('too many reference picture sets');
  let references = 0;
  for (let set = 0; set < count; set += 1) {
    if (set > 0 && reader.flag()) {
      reader.flag();
      reader.unsigned();
      let used = 0;
      for (let index = 0; index <= references; index += 1) if (reader.flag() || reader.flag()) used += 1;
      references = used;
      continue;
    }
    references = reader.unsigned() + reader.unsigned();
    if (references > 2 * MAX_REFERENCES) throw new Error('too many references');
    for (let index = 0; index < references; index += 1) {
      reader.unsigned();
      reader.flag();
    }
  }
};

/** Video usability information up to its timing (E.2.1). */
const readUsability = (reader: BitReader): Pick<HevcSequence, 'hasSquarePixels' | 'frameRate'> => {
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
  reader.bits(3);
  if (reader.flag()) for (let edge = 0; edge < 4; edge += 1) reader.unsigned();
  if (!reader.flag()) return { hasSquarePixels };
  const [ticksPerFrame, timescale] = [reader.bits(32), reader.bits(32)];
  if (ticksPerFrame === 0 || timescale === 0) return { hasSquarePixels };
  return { hasSquarePixels, frameRate: { num: timescale, den: ticksPerFrame } };
};

const readAspect = (reader: BitReader): boolean => {
  if (!reader.flag()) return true;
  const aspect = reader.bits(8);
  if (aspect !== EXTENDED_ASPECT) return aspect === 0 || aspect === SQUARE_PIXELS;
  const [width, height] = [reader.bits(16), reader.bits(16)];
  return width === height || width === 0 || height === 0;
};
