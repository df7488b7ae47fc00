import { BitReader } from './bit-reader.js';
import { readHevcSequence } from './hevc-sps.js';

/** The hvcC record (ISO/IEC 14496-15, 8.3.3) and HEVC access units with 4-byte lengths. */

const NAL_IRAP_FIRST = 16;
const NAL_IRAP_LAST = 21;
const NAL_CRA = 21;
const NAL_ACCESS_UNIT_DELIMITER = 35;
const HEADER_BYTES = 23;
const NAL_SPS = 33;

export interface HvccSummary {
  /** RFC 6381 (ISO/IEC 14496-15, annex E), for example `hvc1.1.6.L93.B0`. */
  readonly codecs: string;
  /** 1 is Main, 2 Main 10. */
  readonly profile: number;
  /** Thirty times the level. */
  readonly level: number;
  readonly lengthBytes: number;
  readonly spsCount: number;
}

/** What an hvcC record declares; undefined when it is not one. */
export const readHvcc = (hvcc: Uint8Array): HvccSummary | undefined => {
  if (hvcc.length < HEADER_BYTES || hvcc[0] !== 1) return undefined;
  const units = listHvccUnits(hvcc);
  if (!units) return undefined;
  return {
    codecs: hevcCodecs(hvcc),
    profile: hvcc[1]! & 0x1f,
    level: hvcc[12]!,
    lengthBytes: (hvcc[21]! & 3) + 1,
    spsCount: units.filter(({ type }) => type === NAL_SPS).length,
  };
};

const NAL_VPS = 32;
const NAL_PPS = 34;
/** Of `profile_tier_level` (ITU-T H.265, 7.3.3), behind the NAL header and a byte. */
const PROFILE_AT = 3;
const PROFILE_BYTES = 12;

/**
 * The hvcC record with 4-byte lengths; undefined when the first SPS is damaged. Chroma is assumed
 * to have the bit depth of luma.
 */
export const buildHvcc = (
  vpsUnits: readonly Uint8Array[],
  spsUnits: readonly Uint8Array[],
  ppsUnits: readonly Uint8Array[],
): Uint8Array | undefined => {
  const sequence = spsUnits[0] && readHevcSequence(spsUnits[0]);
  if (!sequence) return undefined;
  const reader = new BitReader(spsUnits[0]!, PROFILE_AT - 1);
  const [first = 0, ...profile] = Array.from({ length: 1 + PROFILE_BYTES }, () => reader.bits(8));
  const layers = ((first >> 1) & 7) + 1;
  const depth = 0xf8 | (sequence.bitDepth - 8);
  const arrayOf = (type: number, units: readonly Uint8Array[]): number[] => [
    // All of them are here, and none in the frames.
    0x80 | type,
    0,
    units.length,
    ...units.flatMap((unit) => [unit.length >> 8, unit.length & 0xff, ...unit]),
  ];
  return Uint8Array.from([
    ...[1, ...profile, 0xf0, 0, 0xfc, 0xfc | sequence.chromaFormat, depth, depth, 0, 0],
    ...[(layers << 3) | ((first & 1) << 2) | 3, 3],
    ...arrayOf(NAL_VPS, vpsUnits),
    ...arrayOf(NAL_SPS, spsUnits),
    ...arrayOf(NAL_PPS, ppsUnits),
  ]);
};

/** The sequence parameter sets of an hvcC record, beginning with their NAL headers. */
export const listHvccSequences = (hvcc: Uint8Array): Uint8Array[] =>
  (listHvccUnits(hvcc) ?? []).filter(({ type }) => type === NAL_SPS).map(({ unit }) => unit);

/** The parameter sets of an hvcC record; undefined when it is damaged. */
export const listHvccSets = (hvcc: Uint8Array): Uint8Array[] | undefined =>
  readHvcc(hvcc) && listHvccUnits(hvcc)?.map(({ unit }) => unit);

/** The parameter sets of a record with a whole header; undefined when it is cut off. */
const listHvccUnits = (hvcc: Uint8Array): { type: number; unit: Uint8Array }[] | undefined => {
  const units: { type: number; unit: Uint8Array }[] = [];
  let offset = HEADER_BYTES;
  for (let array = 0; array < hvcc[22]!; array += 1) {
    if (offset + 3 > hvcc.length) return undefined;
    const type = hvcc[offset]! & 0x3f;
    const count = hvcc[offset + 1]! * 256 + hvcc[offset + 2]!;
    offset += 3;
    for (let index = 0; index < count; index += 1) {
      const start = offset + 2;
      if (start > hvcc.length) return undefined;
      offset = start + hvcc[offset]! * 256 + hvcc[offset + 1]!;
      if (offset > hvcc.length) return undefined;
      units.push({ type, unit: hvcc.subarray(start, offset) });
    }
  }
  return units;
};

/**
 * Compatibility flags are written in reverse bit order. Constraint bytes end with the last nonzero
 * one.
 */
const hevcCodecs = (hvcc: Uint8Array): string => {
  const profile = hvcc[1]!;
  const space = ['', 'A', 'B', 'C'][profile >> 6]!;
  let compatibility = 0;
  for (let bit = 0; bit < 32; bit += 1) if (hvcc[2 + (bit >> 3)]! & (0x80 >> (bit & 7))) compatibility += 2 ** bit;
  const constraints = [...hvcc.subarray(6, 12)];
  while (constraints.at(-1) === 0) constraints.pop();
  return [
    'hvc1',
    `${space}${profile & 0x1f}`,
    compatibility.toString(16).toUpperCase(),
    `${profile & 0x20 ? 'H' : 'L'}${hvcc[12]}`,
    ...constraints.map((value) => value.toString(16).toUpperCase()),
  ].join('.');
};

/** Each NAL unit of an access unit, including its length. */
function* listUnits(bytes: Uint8Array): Generator<{ type: number; unit: Uint8Array }> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let offset = 0; offset + 4 < bytes.length; ) {
    const end = offset + 4 + view.getUint32(offset);
    yield { type: (bytes[offset + 4]! >> 1) & 0x3f, unit: bytes.subarray(offset, end) };
    offset = end;
  }
}

/** Whether decoding can start with the access unit. */
export const isIrapFrame = (bytes: Uint8Array): boolean => {
  for (const { type } of listUnits(bytes)) if (type >= NAL_IRAP_FIRST && type <= NAL_IRAP_LAST) return true;
  return false;
};

/**
 * Whether the access unit is a clean random access picture: pictures that follow it and are shown
 * before it may need others before it (ITU-T H.265, 3.19).
 */
export const isCraFrame = (bytes: Uint8Array): boolean => {
  for (const { type } of listUnits(bytes)) if (type === NAL_CRA) return true;
  return false;
};

/** Drops access-unit delimiters. Returns the same array when there are none. */
export const withoutHevcDelimiters = (bytes: Uint8Array): Uint8Array => {
  const units = [...listUnits(bytes)];
  const sampleUnits = units.filter(({ type }) => type !== NAL_ACCESS_UNIT_DELIMITER);
  return sampleUnits.length === units.length
    ? bytes
    : Uint8Array.from(Buffer.concat(sampleUnits.map(({ unit }) => unit)));
};
