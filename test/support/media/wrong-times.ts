/**
 * Writes wrong times into media files: damage of which the outcome is known, unlike that of flipped
 * bits.
 */

const PACKET_BYTES = 188;
const TICKS_PER_SECOND = 90_000;
const HOUR_SECONDS = 3600;

/**
 * Where the headers of a transport stream's PES packets of one kind begin (ISO/IEC 13818-1, 2.4.3).
 */
const findPesHeaders = (bytes: Buffer, kind: 'frame' | 'audio'): number[] => {
  const headers: number[] = [];
  for (let at = 0; at + PACKET_BYTES <= bytes.length; at += PACKET_BYTES) {
    const startsUnit = (bytes[at + 1]! & 0x40) !== 0;
    const hasAdaptation = (bytes[at + 3]! & 0x20) !== 0;
    const header = at + 4 + (hasAdaptation ? 1 + bytes[at + 4]! : 0);
    if (!startsUnit || bytes.readUIntBE(header, 3) !== 1) continue;
    const id = bytes[header + 3]! >> 4;
    if (id === (kind === 'frame' ? 0xe : 0xc)) headers.push(header);
  }
  return headers;
};

const readTime = (bytes: Buffer, at: number): number =>
  ((bytes[at]! >> 1) & 7) * 2 ** 30 + (bytes.readUInt16BE(at + 1) >> 1) * 2 ** 15 + (bytes.readUInt16BE(at + 3) >> 1);

/** 33 bits in three parts, each followed by a marker. */
const writeTime = (bytes: Buffer, at: number, ticks: number): void => {
  bytes[at] = (bytes[at]! & 0xf0) | ((Math.floor(ticks / 2 ** 30) & 7) << 1) | 1;
  bytes.writeUInt16BE(((Math.floor(ticks / 2 ** 15) & 0x7fff) << 1) | 1, at + 1);
  bytes.writeUInt16BE(((ticks & 0x7fff) << 1) | 1, at + 3);
};

interface WrongTime {
  readonly kind: 'frame' | 'audio';
  /**
   * The first PES packet from this one on (a negative number counts from the end) that has the
   * field.
   */
  readonly packet: number;
  readonly field: 'pts' | 'dts';
  readonly addSeconds: number;
}

/** A copy of the transport stream in which single time stamps are off. */
export const withWrongTimes = (source: Buffer, wrongTimes: readonly WrongTime[]): Buffer => {
  const bytes = Buffer.from(source);
  for (const { kind, packet, field, addSeconds } of wrongTimes) {
    // Flags: 10 a PTS alone, 11 a DTS as well.
    const wanted = field === 'pts' ? 0x80 : 0xc0;
    const header = findPesHeaders(bytes, kind)
      .slice(packet)
      .find((at) => (bytes[at + 7]! & wanted) === wanted);
    if (header === undefined) throw new Error(`no ${kind} ${packet} with a ${field}`);
    const at = header + (field === 'pts' ? 9 : 14);
    const ticks = readTime(bytes, at) + addSeconds * TICKS_PER_SECOND;
    writeTime(bytes, at, (ticks + 2 ** 33) % 2 ** 33);
  }
  return bytes;
};

/**
 * A copy of an MP4 file, frames first in its index, in which one group of frames is displayed an
 * hour too late.
 */
export const withLateFrame = (source: Buffer): Buffer => {
  const bytes = Buffer.from(source);
  const timescale = bytes.readUInt32BE(bytes.indexOf('mdhd') + 16);
  const table = bytes.indexOf('ctts');
  const entry = table + 12 + 8 * Math.floor(bytes.readUInt32BE(table + 8) / 2);
  bytes.writeUInt32BE(bytes.readUInt32BE(entry + 4) + HOUR_SECONDS * timescale, entry + 4);
  return bytes;
};
