import { HIGH_PROFILES, skipScalingLists } from '../codecs/avc-sps.js';
import { BitReader } from '../codecs/bit-reader.js';

/**
 * Computes the length of an H.264 slice header (ITU-T H.264, 7.3.3). Encryption leaves the header
 * clear, because players parse it before decryption. Reads only those fields of the parameter sets
 * that slice headers depend on.
 */

const NAL_IDR = 5;
const NAL_SPS = 7;
const NAL_PPS = 8;

interface SequenceParameters {
  readonly chromaArrayType: number;
  readonly hasSeparateColorPlanes: boolean;
  readonly frameNumberBits: number;
  readonly orderCountType: number;
  readonly orderCountBits: number;
  readonly isDeltaAlwaysZero: boolean;
  readonly isFramesOnly: boolean;
}

interface PictureParameters {
  readonly sequenceId: number;
  readonly isCabac: boolean;
  readonly hasBottomOrderCount: boolean;
  readonly defaultReferences: readonly [number, number];
  readonly isWeightedP: boolean;
  readonly weightedB: number;
  readonly hasDeblockingControl: boolean;
  readonly hasRedundantCount: boolean;
}

const readSequence = (unit: Uint8Array): [number, SequenceParameters] => {
  const reader = new BitReader(unit, 1);
  const profile = reader.bits(8);
  reader.bits(16);
  const id = reader.unsigned();
  let chromaFormat = 1;
  let hasSeparateColorPlanes = false;
  if (HIGH_PROFILES.has(profile)) {
    chromaFormat = reader.unsigned();
    hasSeparateColorPlanes = chromaFormat === 3 && reader.flag();
    reader.unsigned();
    reader.unsigned();
    reader.flag();
    if (reader.flag()) skipScalingLists(reader, chromaFormat === 3 ? 12 : 8);
  }
  const frameNumberBits = reader.unsigned() + 4;
  const orderCountType = reader.unsigned();
  let orderCountBits = 0;
  let isDeltaAlwaysZero = false;
  if (orderCountType === 0) orderCountBits = reader.unsigned() + 4;
  else if (orderCountType === 1) {
    isDeltaAlwaysZero = reader.flag();
    reader.signed();
    reader.signed();
    const cycle = reader.unsigned();
    for (let index = 0; index < cycle && !reader.isPastEnd; index++) reader.signed();
  }
  reader.unsigned();
  reader.flag();
  reader.unsigned();
  reader.unsigned();
  const isFramesOnly = reader.flag();
  const chromaArrayType = hasSeparateColorPlanes ? 0 : chromaFormat;
  return [
    id,
    {
      chromaArrayType,
      hasSeparateColorPlanes,
      frameNumberBits,
      orderCountType,
      orderCountBits,
      isDeltaAlwaysZero,
      isFramesOnly,
    },
  ];
};

const readPicture = (unit: Uint8Array): [number, PictureParameters] => {
  const reader = new BitReader(unit, 1);
  const id = reader.unsigned();
  const sequenceId = reader.unsigned();
  const isCabac = reader.flag();
  const hasBottomOrderCount = reader.flag();
  if (reader.unsigned() > 0) throw new Error('slice groups are not supported');
  const defaultReferences = [reader.unsigned() + 1, reader.unsigned() + 1] as const;
  const isWeightedP = reader.flag();
  const weightedB = reader.bits(2);
  reader.signed();
  reader.signed();
  reader.signed();
  const hasDeblockingControl = reader.flag();
  reader.flag();
  const hasRedundantCount = reader.flag();
  return [
    id,
    {
      sequenceId,
      isCabac,
      hasBottomOrderCount,
      defaultReferences,
      isWeightedP,
      weightedB,
      hasDeblockingControl,
      hasRedundantCount,
    },
  ];
};

const skipListModification = (reader: BitReader): void => {
  if (!reader.flag()) return;
  while (reader.unsigned() !== 3) {
    reader.unsigned();
    if (reader.isPastEnd) throw new Error('a slice header has no end');
  }
};

const skipWeights = (reader: BitReader, hasChroma: boolean, references: readonly number[]): void => {
  reader.unsigned();
  if (hasChroma) reader.unsigned();
  for (const count of references) {
    for (let index = 0; index < count && !reader.isPastEnd; index++) {
      for (const pairs of hasChroma ? [1, 2] : [1]) {
        if (!reader.flag()) continue;
        for (let value = 0; value < 2 * pairs; value++) reader.signed();
      }
    }
  }
};

const skipReferenceMarking = (reader: BitReader, isIdr: boolean): void => {
  if (isIdr) {
    reader.bits(2);
    return;
  }
  if (!reader.flag()) return;
  for (let operation = reader.unsigned(); operation !== 0; operation = reader.unsigned()) {
    if (operation !== 5) reader.unsigned();
    if (operation === 3) reader.unsigned();
    if (reader.isPastEnd) throw new Error('a slice header has no end');
  }
};

/** The parameter sets of a stream and the properties of its slices that follow from them. */
export class AvcParameterSets {
  private readonly sequences = new Map<number, SequenceParameters>();
  private readonly pictures = new Map<number, PictureParameters>();

  /** Stores an SPS or PPS and ignores other units. `unit` begins with the NAL header. */
  add(unit: Uint8Array): void {
    const type = unit[0]! & 0x1f;
    if (type === NAL_SPS) this.sequences.set(...readSequence(unit));
    else if (type === NAL_PPS) this.pictures.set(...readPicture(unit));
  }

  /**
   * Size of the NAL header and the slice header in bytes, rounded up, including emulation
   * prevention bytes. `unit` begins with the NAL header and is of type 1 or 5.
   * @throws Error when the header is damaged or a parameter set is missing
   */
  sliceHeaderBytes(unit: Uint8Array): number {
    const isIdr = (unit[0]! & 0x1f) === NAL_IDR;
    const isReference = (unit[0]! & 0x60) !== 0;
    const reader = new BitReader(unit, 1);
    reader.unsigned();
    const type = reader.unsigned() % 5;
    const [isP, isB, isSwitching] = [type === 0 || type === 3, type === 1, type >= 3];
    const picture = this.pictures.get(reader.unsigned());
    const sequence = picture && this.sequences.get(picture.sequenceId);
    if (!picture || !sequence) throw new Error('a slice names a parameter set that is missing');

    if (sequence.hasSeparateColorPlanes) reader.bits(2);
    reader.bits(sequence.frameNumberBits);
    const isField = !sequence.isFramesOnly && reader.flag();
    if (isField) reader.flag();
    if (isIdr) reader.unsigned();
    const hasDeltas = picture.hasBottomOrderCount && !isField;
    if (sequence.orderCountType === 0) {
      reader.bits(sequence.orderCountBits);
      if (hasDeltas) reader.signed();
    } else if (sequence.orderCountType === 1 && !sequence.isDeltaAlwaysZero) {
      reader.signed();
      if (hasDeltas) reader.signed();
    }
    if (picture.hasRedundantCount) reader.unsigned();

    if (isB) reader.flag();
    let references = picture.defaultReferences.slice(0, isB ? 2 : isP ? 1 : 0);
    if (references.length > 0 && reader.flag()) references = references.map(() => reader.unsigned() + 1);
    for (const _ of references) skipListModification(reader);
    if ((isP && picture.isWeightedP) || (isB && picture.weightedB === 1)) {
      skipWeights(reader, sequence.chromaArrayType !== 0, references);
    }
    if (isReference) skipReferenceMarking(reader, isIdr);
    if (picture.isCabac && references.length > 0) reader.unsigned();
    reader.signed();
    if (isSwitching) {
      if (type === 3) reader.flag();
      reader.signed();
    }
    if (picture.hasDeblockingControl && reader.unsigned() !== 1) {
      reader.signed();
      reader.signed();
    }
    if (reader.isPastEnd) throw new Error('a slice is shorter than its header');
    return reader.readBytes;
  }
}
