/** Captions (CEA-608) in H.264, as an encoder of a broadcaster puts them there. */
import type { Tag } from './flv-packets.js';

/** Two bytes of a field without parity; padding if absent. */
export type Code = readonly [first: number, second: number];

const VIDEO = 9;
const AVC_FRAME = 1;
/** Of an FLV tag with a frame of H.264. */
const HEAD_BYTES = 5;
const PADDING: Code = [0, 0];
const SEI = 6;
/** Country, provider, `GA94`, type. */
const IDENTIFIER = [0xb5, 0x00, 0x31, 0x47, 0x41, 0x39, 0x34, 0x03];

const RESUME_LOADING: Code = [0x14, 0x20];
const ERASE_HIDDEN: Code = [0x14, 0x2e];
const END_OF_CAPTION: Code = [0x14, 0x2f];
export const ERASE_SHOWN: Code = [0x14, 0x2c];
/** Row 14 and 15, column 0. */
const ROWS: readonly Code[] = [
  [0x14, 0x40],
  [0x14, 0x60],
];

const twice = (code: Code): Code[] => [code, code];

/** Prepares a pop-on caption of one or two lines and shows it with the last but one code. */
export const popOn = (text: string): Code[] => {
  const lines = text.split('\n');
  const rows = ROWS.slice(-lines.length);
  const codes = lines.flatMap((line, at) => [
    ...twice(rows[at]!),
    ...Array.from({ length: Math.ceil(line.length / 2) }, (_, pair): Code => {
      return [line.charCodeAt(pair * 2), line.charCodeAt(pair * 2 + 1) || 0];
    }),
  ]);
  return [...twice(RESUME_LOADING), ...twice(ERASE_HIDDEN), ...codes, ...twice(END_OF_CAPTION)];
};

const withParity = (byte: number): number => {
  let bits = 0;
  for (let rest = byte; rest > 0; rest >>= 1) bits += rest & 1;
  return bits % 2 === 0 ? byte | 0x80 : byte;
};

/** The NAL unit of a frame, whose pairs are those of field 1 and field 2. */
const captionUnit = (codes: readonly [Code, Code]): Buffer => {
  const triplets = codes.flatMap(([first, second], field) => [0xfc | field, withParity(first), withParity(second)]);
  const payload = [...IDENTIFIER, 0x40 | codes.length, 0xff, ...triplets, 0xff];
  const unit = [SEI, 4, payload.length, ...payload, 0x80];
  const length = Buffer.alloc(4);
  length.writeUInt32BE(unit.length);
  return Buffer.concat([length, Buffer.from(unit)]);
};

/**
 * Adds a NAL unit with captions to each frame of H.264. `fields` have a code for each frame, in the
 * order in which frames are shown.
 */
export const addCaptions = (tags: readonly Tag[], fields: readonly [readonly Code[], readonly Code[]]): Tag[] => {
  const isFrame = ({ typeId, payload }: Tag): boolean => typeId === VIDEO && payload[1] === AVC_FRAME;
  const displayedMs = ({ ms, payload }: Tag): number => ms + payload.readIntBE(2, 3);
  const shown = tags.filter(isFrame).sort((a, b) => displayedMs(a) - displayedMs(b));
  const units = new Map(
    shown.map((tag, at) => [tag, captionUnit([fields[0][at] ?? PADDING, fields[1][at] ?? PADDING])]),
  );
  return tags.map((tag) => {
    const unit = units.get(tag);
    const { payload } = tag;
    return unit
      ? { ...tag, payload: Buffer.concat([payload.subarray(0, HEAD_BYTES), unit, payload.subarray(HEAD_BYTES)]) }
      : tag;
  });
};

/** The NAL units with captions of a frame with 4-byte lengths. */
export const captionUnits = (frame: Buffer): Buffer[] => {
  const units: Buffer[] = [];
  for (let at = 0; at < frame.length; ) {
    const end = at + 4 + frame.readUInt32BE(at);
    const unit = frame.subarray(at + 4, end);
    if (unit[0] === SEI && unit.includes(Buffer.from(IDENTIFIER))) units.push(unit);
    at = end;
  }
  return units;
};
