import { BitReader } from './bit-reader.js';

/** What a sequence header of AV1 says about the frames (AV1 specification, 5.5). */
export interface Av1Sequence {
  readonly width: number;
  readonly height: number;
  /** Frames per second as a fraction; absent when they are not said to be equally long. */
  readonly frameRate?: { readonly num: number; readonly den: number };
}

/** Levels from this one on have a tier. */
const TIERED_LEVEL = 8;

/** Undefined when the content of the unit, without its header, is damaged. */
export const readAv1Sequence = (content: Uint8Array): Av1Sequence | undefined => {
  const reader = new BitReader(content, 0, false);
  try {
    const sequence = readSequence(reader);
    return reader.isPastEnd ? undefined : sequence;
  } catch {
    // A number without an end.
    return undefined;
  }
};

const readSequence = (reader: BitReader): Av1Sequence => {
  reader.bits(3);
  reader.flag();
  const isReduced = reader.flag();
  // Of a still picture, only the level follows.
  if (isReduced) reader.bits(5);
  const frameRate = isReduced ? undefined : readOperatingPoints(reader);
  const [widthBits, heightBits] = [reader.bits(4) + 1, reader.bits(4) + 1];
  const [width, height] = [reader.bits(widthBits) + 1, reader.bits(heightBits) + 1];
  return { width, height, ...(frameRate && { frameRate }) };
};

const readOperatingPoints = (reader: BitReader): Av1Sequence['frameRate'] => {
  const timing = reader.flag() ? readTiming(reader) : undefined;
  const hasDelay = reader.flag();
  const count = reader.bits(5) + 1;
  for (let point = 0; point < count; point += 1) {
    reader.bits(12);
    if (reader.bits(5) >= TIERED_LEVEL) reader.flag();
    if (timing?.delayBits !== undefined && reader.flag()) {
      reader.bits(timing.delayBits);
      reader.bits(timing.delayBits);
      reader.flag();
    }
    if (hasDelay && reader.flag()) reader.bits(4);
  }
  return timing?.frameRate;
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
