import { type Av1Format, type Av1Sequence, readAv1Format, readAv1Sequence } from './av1-sequence.js';

/**
 * The av1C record and samples of AV1 in ISO base media files (AV1 Codec ISO Media File Format
 * Binding 1.2).
 */

const OBU_SEQUENCE_HEADER = 1;
const OBU_TEMPORAL_DELIMITER = 2;
const OBU_FRAME_HEADER = 3;
const OBU_FRAME = 6;
const HEADER_BYTES = 4;

export interface Av1cSummary {
  /** For example `av01.0.04M.08`. */
  readonly codecs: string;
  /** 0 is Main: 4:2:0 with 8 or 10 bits. */
  readonly profile: number;
  readonly bitDepth: number;
}

/** `seq_level_idx` of a level times ten. */
export const av1LevelIndex = (level: number): number => (Math.floor(level / 10) - 2) * 4 + (level % 10);

/** The `CODECS` value of Main profile with 8 bits in Main tier; `level` is times ten. */
export const av1Codecs = (level: number): string => `av01.0.${twoDigits(av1LevelIndex(level))}M.08`;

const twoDigits = (value: number): string => String(value).padStart(2, '0');

/** What an av1C record declares; undefined when it is not one. */
export const readAv1c = (av1c: Uint8Array): Av1cSummary | undefined => {
  if (av1c.length < HEADER_BYTES || av1c[0] !== 0x81) return undefined;
  const profile = av1c[1]! >> 5;
  const level = av1c[1]! & 0x1f;
  const flags = av1c[2]!;
  const tier = flags & 0x80 ? 'H' : 'M';
  const bitDepth = flags & 0x40 ? (flags & 0x20 ? 12 : 10) : 8;
  return { codecs: `av01.${profile}.${twoDigits(level)}${tier}.${twoDigits(bitDepth)}`, profile, bitDepth };
};

interface Obu {
  readonly type: number;
  readonly bytes: Uint8Array;
  /** Without the header. */
  readonly content: Uint8Array;
}

/** The open bitstream units of a sample; undefined when they do not fill the sample exactly. */
const listObus = (bytes: Uint8Array): Obu[] | undefined => {
  const units: Obu[] = [];
  for (let offset = 0; offset < bytes.length; ) {
    const header = bytes[offset]!;
    let content = offset + (header & 0x04 ? 2 : 1);
    let size = bytes.length - content;
    if (header & 0x02) {
      size = 0;
      for (let shift = 0; ; shift += 7) {
        const byte = bytes[content];
        if (byte === undefined || shift > 28) return undefined;
        content += 1;
        size += (byte & 0x7f) * 2 ** shift;
        if (byte < 0x80) break;
      }
    }
    const end = content + size;
    if (size < 0 || end > bytes.length) return undefined;
    units.push({
      type: (header >> 3) & 0x0f,
      bytes: bytes.subarray(offset, end),
      content: bytes.subarray(content, end),
    });
    offset = end;
  }
  return units;
};

/** The content of the sequence header in an av1C record, which is optional there. */
export const findSequenceHeader = (av1c: Uint8Array): Uint8Array | undefined =>
  listObus(av1c.subarray(HEADER_BYTES))?.find(({ type }) => type === OBU_SEQUENCE_HEADER)?.content;

/**
 * The av1C record with the sequence header that an encoder gave: as a whole unit. Undefined when it
 * is none of Main profile.
 */
export const writeAv1c = (header: Uint8Array): Uint8Array | undefined => {
  const units = listObus(header);
  const unit = units?.length === 1 && units[0]!.type === OBU_SEQUENCE_HEADER ? units[0]! : undefined;
  const format = unit && readAv1Format(unit.content);
  return format && Uint8Array.from([0x81, format.level, writeFormat(format), 0, ...header]);
};

/** Chroma is 4:2:0. */
const writeFormat = ({ isHighTier, bitDepth, isMonochrome, chromaPosition }: Av1Format): number =>
  (isHighTier ? 0x80 : 0) | (bitDepth === 10 ? 0x40 : 0) | (isMonochrome ? 0x10 : 0) | 0x0c | chromaPosition;

/** One sample of AV1: a temporal unit. */
export interface TemporalUnit {
  /** Frames that are displayed: one in a well-formed unit. */
  readonly shownFrames: number;
  readonly hasDelimiter: boolean;
  /** Present when it begins with a sequence header, as decoding from a key frame requires. */
  readonly sequence?: Av1Sequence & Av1Format;
}

/**
 * What a sample of a stream with a full sequence header contains. Undefined when its units do not
 * fill it exactly or its sequence header is damaged.
 */
export const readTemporalUnit = (bytes: Uint8Array): TemporalUnit | undefined => {
  const units = listObus(bytes);
  if (!units) return undefined;
  const hasDelimiter = units.some(({ type }) => type === OBU_TEMPORAL_DELIMITER);
  const shownFrames = units.filter(showsFrame).length;
  const first = units.find(({ type }) => type !== OBU_TEMPORAL_DELIMITER);
  if (first?.type !== OBU_SEQUENCE_HEADER) return { shownFrames, hasDelimiter };
  const sequence = readAv1Sequence(first.content);
  const format = readAv1Format(first.content);
  return sequence && format && { shownFrames, hasDelimiter, sequence: { ...sequence, ...format } };
};

/** Its header begins with `show_existing_frame`, or with that 0, the type and `show_frame`. */
const showsFrame = ({ type, content }: Obu): boolean => {
  if (type !== OBU_FRAME && type !== OBU_FRAME_HEADER) return false;
  const start = content[0] ?? 0;
  return (start & 0x80) !== 0 || (start & 0x10) !== 0;
};

/** Whether a sample begins with a sequence header, as decoding from a key frame requires. */
export const hasSequenceHeader = (bytes: Uint8Array): boolean =>
  listObus(bytes)?.find(({ type }) => type !== OBU_TEMPORAL_DELIMITER)?.type === OBU_SEQUENCE_HEADER;

/**
 * Removes temporal delimiters, which samples must not contain. Returns the same array when there
 * are none.
 */
export const withoutTemporalDelimiters = (bytes: Uint8Array): Uint8Array => {
  const units = listObus(bytes) ?? [];
  const sampleUnits = units.filter(({ type }) => type !== OBU_TEMPORAL_DELIMITER);
  return sampleUnits.length === units.length
    ? bytes
    : Uint8Array.from(Buffer.concat(sampleUnits.map(({ bytes: unit }) => unit)));
};
