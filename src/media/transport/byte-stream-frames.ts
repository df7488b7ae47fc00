import { buildAvcc, splitAnnexB } from '../codecs/avc.js';
import { readAvcSequence } from '../codecs/avc-sps.js';
import { BitReader } from '../codecs/bit-reader.js';
import { buildHvcc } from '../codecs/hevc.js';
import { concat, u32 } from '../mp4/box-writer.js';
import type { VideoCodec } from './stream-types.js';

/** A frame of a byte stream (annex B of H.264 and H.265) in the form of MP4. */
export interface ByteStreamFrame {
  readonly isKey: boolean;
  /** Length-prefixed NAL units, without the parameter sets of `record`. Empty without a slice. */
  readonly data: Uint8Array;
  /** avcC or hvcC of a frame with parameter sets. */
  readonly record?: Uint8Array;
}

export const readByteStreamFrame = (codec: VideoCodec, bytes: Uint8Array): ByteStreamFrame => {
  const units = splitAnnexB(bytes);
  return codec === 'avc' ? readAvcFrame(units) : readHevcFrame(units);
};

const AVC = { idr: 5, sei: 6, sps: 7, pps: 8, delimiter: 9, filler: 12 } as const;
/** avcC counts sequence parameter sets with 5 bits. */
const MAX_SETS = 31;
/** Of all sets of a frame. Their sizes have 16 bits; usual ones have some hundred bytes. */
const MAX_SETS_BYTES = 2 ** 16 - 1;

const readAvcFrame = (units: readonly Uint8Array[]): ByteStreamFrame => {
  const typeOf = (unit: Uint8Array): number => unit[0]! & 0x1f;
  const ofType = (type: number): Uint8Array[] => units.filter((unit) => typeOf(unit) === type);
  const [sps, pps] = [ofType(AVC.sps), ofType(AVC.pps)];
  const isConfigured = areSets(sps, pps) && sps.every((unit) => unit.length >= 4 && readAvcSequence(unit));
  const dropped = new Set<number>([AVC.delimiter, AVC.filler, ...(isConfigured ? [AVC.sps, AVC.pps] : [])]);
  const isSlice = (unit: Uint8Array): boolean => typeOf(unit) >= 1 && typeOf(unit) <= AVC.idr;
  return {
    isKey: ofType(AVC.idr).length > 0 || ofType(AVC.sei).some(isRecoveryPoint),
    data: units.some(isSlice) ? lengthPrefixed(units.filter((unit) => !dropped.has(typeOf(unit)))) : new Uint8Array(0),
    ...(isConfigured && { record: buildAvcc(unique(sps), unique(pps)) }),
  };
};

const areSets = (...kinds: readonly (readonly Uint8Array[])[]): boolean =>
  kinds.every((sets) => sets.length > 0 && sets.length <= MAX_SETS) &&
  kinds.flat().reduce((bytes, set) => bytes + set.length, 0) <= MAX_SETS_BYTES;

const RECOVERY_POINT = 6;

/** Whether an SEI unit says that every later frame can be decoded from this one on (D.2.8). */
const isRecoveryPoint = (unit: Uint8Array): boolean => {
  const numberAt = (start: number): { value: number; next: number } => {
    let at = start;
    let value = 0;
    for (; unit[at] === 0xff; at += 1) value += 0xff;
    return { value: value + (unit[at] ?? 0), next: at + 1 };
  };
  for (let at = 1; at + 2 < unit.length; ) {
    const type = numberAt(at);
    const size = numberAt(type.next);
    // No frames until then. The number 0 has one bit.
    if (type.value === RECOVERY_POINT) return new BitReader(unit, size.next).flag();
    at = size.next + size.value;
  }
  return false;
};

const HEVC = { irapFirst: 16, irapLast: 21, vps: 32, sps: 33, pps: 34, delimiter: 35, filler: 38 } as const;

const readHevcFrame = (units: readonly Uint8Array[]): ByteStreamFrame => {
  const typeOf = (unit: Uint8Array): number => (unit[0]! >> 1) & 0x3f;
  const ofType = (type: number): Uint8Array[] => units.filter((unit) => typeOf(unit) === type);
  const [vps, sps, pps] = [ofType(HEVC.vps), ofType(HEVC.sps), ofType(HEVC.pps)];
  const record = areSets(vps, sps, pps) ? buildHvcc(unique(vps), unique(sps), unique(pps)) : undefined;
  const sets = record ? [HEVC.vps, HEVC.sps, HEVC.pps] : [];
  const dropped = new Set<number>([HEVC.delimiter, HEVC.filler, ...sets]);
  const isSlice = (unit: Uint8Array): boolean => typeOf(unit) < HEVC.vps;
  return {
    isKey: units.some((unit) => typeOf(unit) >= HEVC.irapFirst && typeOf(unit) <= HEVC.irapLast),
    data: units.some(isSlice) ? lengthPrefixed(units.filter((unit) => !dropped.has(typeOf(unit)))) : new Uint8Array(0),
    ...(record && { record }),
  };
};

/** Some encoders send a parameter set with each slice. */
const unique = (units: readonly Uint8Array[]): Uint8Array[] =>
  units.filter((unit, at) => units.findIndex((other) => Buffer.compare(other, unit) === 0) === at);

const lengthPrefixed = (units: readonly Uint8Array[]): Uint8Array =>
  concat(units.flatMap((unit) => [u32(unit.length), unit]));
