import assert from 'node:assert';
import { readAvcSequence } from './avc-sps.js';

/**
 * H.264 byte-stream (Annex B) and length-prefixed forms, and the avcC record (ISO/IEC 14496-15,
 * 5.3.3).
 */

const NAL_ACCESS_UNIT_DELIMITER = 9;
const NAL_IDR = 5;
const NAL_SPS = 7;
const NAL_PPS = 8;

/** NAL units of a byte stream, without start codes and trailing zeros. */
export const splitAnnexB = (bytes: Uint8Array): Uint8Array[] => {
  const units: Uint8Array[] = [];
  let start = -1;
  const push = (end: number): void => {
    if (start < 0) return;
    let trimmed = end;
    // A NAL unit never ends in a zero byte; zeros before a start code belong to the byte stream.
    while (trimmed > start && bytes[trimmed - 1] === 0) trimmed -= 1;
    if (trimmed > start) units.push(bytes.subarray(start, trimmed));
  };
  for (let index = 0; index + 2 < bytes.length; ) {
    if (bytes[index + 2]! > 1) index += 3;
    else if (bytes[index] === 0 && bytes[index + 1] === 0 && bytes[index + 2] === 1) {
      push(index);
      start = index + 3;
      index += 3;
    } else index += 1;
  }
  push(bytes.length);
  return units;
};

/** Rewrites one access unit to 4-byte lengths and drops access-unit delimiters. */
export const annexBToLengthPrefixed = (bytes: Uint8Array): Uint8Array => {
  const units = splitAnnexB(bytes).filter((unit) => (unit[0]! & 0x1f) !== NAL_ACCESS_UNIT_DELIMITER);
  const output = new Uint8Array(units.reduce((sum, unit) => sum + unit.length + 4, 0));
  const view = new DataView(output.buffer);
  let offset = 0;
  for (const unit of units) {
    view.setUint32(offset, unit.length);
    output.set(unit, offset + 4);
    offset += unit.length + 4;
  }
  return output;
};

/** NAL units of an access unit with 4-byte lengths, including the lengths. */
const splitLengthPrefixed = (bytes: Uint8Array): Uint8Array[] => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const units: Uint8Array[] = [];
  for (let offset = 0; offset + 4 < bytes.length; ) {
    const end = offset + 4 + view.getUint32(offset);
    units.push(bytes.subarray(offset, end));
    offset = end;
  }
  return units;
};

/** Whether the access unit is an IDR picture: nothing after it needs anything before it. */
export const isIdrPicture = (bytes: Uint8Array, form: 'annexb' | 'length-prefixed'): boolean =>
  form === 'annexb'
    ? splitAnnexB(bytes).some((unit) => (unit[0]! & 0x1f) === NAL_IDR)
    : splitLengthPrefixed(bytes).some((unit) => (unit[4]! & 0x1f) === NAL_IDR);

/**
 * Drops access-unit delimiters from an access unit with 4-byte lengths. Returns the same array when
 * there are none.
 */
export const withoutAccessUnitDelimiters = (bytes: Uint8Array): Uint8Array => {
  const sampleUnits = splitLengthPrefixed(bytes).filter((unit) => (unit[4]! & 0x1f) !== NAL_ACCESS_UNIT_DELIMITER);
  const total = sampleUnits.reduce((sum, unit) => sum + unit.length, 0);
  if (total === bytes.length) return bytes;
  const output = new Uint8Array(total);
  let offset = 0;
  for (const unit of sampleUnits) {
    output.set(unit, offset);
    offset += unit.length;
  }
  return output;
};

const PROFILES_WITH_CHROMA_FIELDS = new Set([100, 110, 122, 144]);

/** The avcC record, 4-byte lengths. Chroma is assumed to have the bit depth of luma. */
export const buildAvcc = (spsUnits: readonly Uint8Array[], ppsUnits: readonly Uint8Array[]): Uint8Array => {
  const first = spsUnits[0];
  assert(first && first.length >= 4 && ppsUnits.length > 0, 'avcC needs an SPS and a PPS');
  const { chromaFormat, bitDepth } = readAvcSequence(first) ?? { chromaFormat: 1, bitDepth: 8 };
  const depth = 0xf8 | (bitDepth - 8);
  const withLength = (unit: Uint8Array): number[] => [unit.length >> 8, unit.length & 0xff, ...unit];
  return Uint8Array.from([
    1,
    first[1]!,
    first[2]!,
    first[3]!,
    0xff,
    0xe0 | spsUnits.length,
    ...spsUnits.flatMap(withLength),
    ppsUnits.length,
    ...ppsUnits.flatMap(withLength),
    ...(PROFILES_WITH_CHROMA_FIELDS.has(first[1]!) ? [0xfc | chromaFormat, depth, depth, 0] : []),
  ]);
};

/** The avcC record for Annex B extradata; undefined when it lacks a parameter set. */
export const avccFromAnnexB = (extradata: Uint8Array): Uint8Array | undefined => {
  const units = splitAnnexB(extradata);
  const sps = units.filter((unit) => (unit[0]! & 0x1f) === NAL_SPS && unit.length >= 4);
  const pps = units.filter((unit) => (unit[0]! & 0x1f) === NAL_PPS);
  return sps.length > 0 && pps.length > 0 ? buildAvcc(sps, pps) : undefined;
};

export interface AvccSummary {
  readonly profile: number;
  readonly constraints: number;
  readonly level: number;
  readonly lengthBytes: number;
  readonly spsCount: number;
  readonly ppsCount: number;
}

/** What an avcC record declares; undefined when it is not one. */
export const readAvcc = (avcc: Uint8Array): AvccSummary | undefined => {
  if (avcc.length < 7 || avcc[0] !== 1) return undefined;
  const spsCount = avcc[5]! & 0x1f;
  let offset = 6;
  for (let index = 0; index < spsCount; index += 1) {
    if (offset + 2 > avcc.length) return undefined;
    offset += 2 + avcc[offset]! * 256 + avcc[offset + 1]!;
  }
  const ppsCount = avcc[offset];
  if (ppsCount === undefined) return undefined;
  return {
    profile: avcc[1]!,
    constraints: avcc[2]!,
    level: avcc[3]!,
    lengthBytes: (avcc[4]! & 3) + 1,
    spsCount,
    ppsCount,
  };
};

/**
 * RFC 6381 string of H.264 in MP4: `avc1.` + profile, constraint flags and level in hexadecimal.
 */
export const avcCodecs = (profile: number, constraints: number, level: number): string =>
  `avc1.${[profile, constraints, level].map((value) => value.toString(16).padStart(2, '0')).join('')}`;

/** The sequence parameter sets of an avcC record, beginning with their NAL headers. */
export const listAvccSequences = (avcc: Uint8Array): Uint8Array[] => listUnits(avcc, 5, 0x1f).units;

/** The picture parameter sets of an avcC record, beginning with their NAL headers. */
export const listAvccPps = (avcc: Uint8Array): Uint8Array[] =>
  listUnits(avcc, listUnits(avcc, 5, 0x1f).end, 0xff).units;

/** @param countAt where the number of units is, in the bits of `mask` */
const listUnits = (avcc: Uint8Array, countAt: number, mask: number): { units: Uint8Array[]; end: number } => {
  const units: Uint8Array[] = [];
  let offset = countAt + 1;
  for (let count = (avcc[countAt] ?? 0) & mask; count > 0 && offset + 2 <= avcc.length; count -= 1) {
    const end = offset + 2 + avcc[offset]! * 256 + avcc[offset + 1]!;
    units.push(avcc.subarray(offset + 2, end));
    offset = end;
  }
  return { units, end: offset };
};
