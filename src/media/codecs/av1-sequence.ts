import { BitReader } from './bit-reader.js';

/** What a sequence header of AV1 says about the frames (AV1 specification, 5.5). */
export interface Av1Sequence {
  readonly width: number;
  readonly height: number;
  /** Frames per second as a fraction; absent when they are not said to be equally long. */
  readonly frameRate?: { readonly num: number; readonly den: number };
}

/** What an av1C record repeats. */
export interface Av1Format {
  readonly profile: number;
  readonly level: number;
  readonly isHighTier: boolean;
  readonly bitDepth: 8 | 10;
  readonly isMonochrome: boolean;
  readonly chromaPosition: number;
}

/** Levels from this one on have a tier. */
const TIERED_LEVEL = 8;
const SRGB = [1, 13, 0];

const read = <T>(content: Uint8Array, parse: (reader: BitReader) => T): T | undefined => {
  const reader = new BitReader(content, 0, false);
  try {
    const parsed = parse(reader);
    return reader.isPastEnd ? undefined : parsed;
  } catch {
    // A number without an end.
    return undefined;
  }
};

/** Undefined when the content of the unit, without its header, is damaged. */
export const readAv1Sequence = (content: Uint8Array): Av1Sequence | undefined =>
  read(content, (reader) => {
    const { width, height, frameRate } = readSequence(reader);
    return { width, height, ...(frameRate && { frameRate }) };
  });

/** The same; also undefined for other profiles than Main, and for still pictures. */
export const readAv1Format = (content: Uint8Array): Av1Format | undefined =>
  read(content, (reader) => {
    const { profile, isReduced, level, isHighTier } = readSequence(reader);
    if (profile !== 0 || isReduced) return undefined;
    skipTools(reader);
    const bitDepth = reader.flag() ? 10 : 8;
    const isMonochrome = reader.flag();
    const colors = reader.flag() ? [reader.bits(8), reader.bits(8), reader.bits(8)] : [];
    // Not 4:2:0, which Main profile requires.
    if (SRGB.every((value, index) => value === colors[index])) return undefined;
    reader.flag();
    const chromaPosition = isMonochrome ? 0 : reader.bits(2);
    return { profile, level, isHighTier, bitDepth, isMonochrome, chromaPosition };
  });

interface SequenceStart extends Av1Sequence, OperatingPoint {
  readonly profile: number;
  readonly isReduced: boolean;
}

/** The first one, which decoders use. */
interface OperatingPoint {
  readonly frameRate?: Av1Sequence['frameRate'];
  readonly level: number;
  readonly isHighTier: boolean;
}

const readSequence = (reader: BitReader): SequenceStart => {
  const profile = reader.bits(3);
  reader.flag();
  const isReduced = reader.flag();
  // Of a still picture, only the level follows.
  const point = isReduced ? { level: reader.bits(5), isHighTier: false } : readOperatingPoints(reader);
  const [widthBits, heightBits] = [reader.bits(4) + 1, reader.bits(4) + 1];
  const [width, height] = [reader.bits(widthBits) + 1, reader.bits(heightBits) + 1];
  return { profile, isReduced, width, height, ...point };
};

const readOperatingPoints = (reader: BitReader): OperatingPoint => {
  const timing = reader.flag() ? readTiming(reader) : undefined;
  const hasDelay = reader.flag();
  const count = reader.bits(5) + 1;
  let first: Omit<OperatingPoint, 'frameRate'> | undefined;
  for (let point = 0; point < count; point += 1) {
    reader.bits(12);
    const level = reader.bits(5);
    const isHighTier = level >= TIERED_LEVEL && reader.flag();
    first ??= { level, isHighTier };
    if (timing?.delayBits !== undefined && reader.flag()) {
      reader.bits(timing.delayBits);
      reader.bits(timing.delayBits);
      reader.flag();
    }
    if (hasDelay && reader.flag()) reader.bits(4);
  }
  return { ...first!, frameRate: timing?.frameRate };
};

/** `timing_info` and `decoder_model_info`. */
const readTiming = (reader: BitReader): { frameRate?: Av1Sequence['frameRate']; delayBits?: number } => {
  const [ticks, timescale] = [reader.bits(32), reader.bits(32)];
  // `uvlc` is coded as `ue(v)` of H.264.
  const perFrame = reader.flag() ? reader.unsigned() + 1 : 0;
  const frameRate = ticks > 0 && timescale > 0 && perFrame > 0 ? { num: timescale, den: ticks * perFrame } : undefined;
  if (!reader.flag()) return { frameRate };
  const delayBits = reader.bits(5) + 1;
  reader.bits(32);
  reader.bits(10);
  return { frameRate, delayBits };
};

/** From `frame_id_numbers_present_flag` to `enable_restoration`. */
const skipTools = (reader: BitReader): void => {
  if (reader.flag()) reader.bits(7);
  // Superblocks of 128, filter intra, intra edge filter; inter-intra, masked, warped, dual filter.
  reader.bits(7);
  const hasOrderHint = reader.flag();
  if (hasOrderHint) reader.bits(2);
  const forcesScreenTools = reader.flag() || reader.flag();
  if (forcesScreenTools && !reader.flag()) reader.flag();
  if (hasOrderHint) reader.bits(3);
  // Super-resolution, CDEF, loop restoration.
  reader.bits(3);
};
