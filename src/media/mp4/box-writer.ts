/** Writes the basic parts of ISO/IEC 14496-12 boxes: big-endian numbers and box headers. */

export const concat = (parts: readonly Uint8Array[]): Uint8Array => {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
};

export const bytesOf = (...values: number[]): Uint8Array => Uint8Array.from(values);
export const ascii = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0));
export const zeros = (count: number): Uint8Array => new Uint8Array(count);
export const u16 = (value: number): Uint8Array => bytesOf(value >> 8, value & 0xff);
export const u32 = (...values: number[]): Uint8Array => {
  const view = new DataView(new ArrayBuffer(values.length * 4));
  values.forEach((value, index) => {
    view.setUint32(index * 4, value >>> 0);
  });
  return new Uint8Array(view.buffer);
};
export const u64 = (value: number): Uint8Array => u32(Math.floor(value / 0x1_0000_0000), value % 0x1_0000_0000);

export const box = (type: string, ...parts: Uint8Array[]): Uint8Array => {
  const size = parts.reduce((sum, part) => sum + part.length, 8);
  return concat([u32(size), ascii(type), ...parts]);
};
export const fullBox = (type: string, version: number, flags: number, ...parts: Uint8Array[]): Uint8Array =>
  box(type, u32(version * 0x100_0000 + flags), ...parts);

export const IDENTITY_MATRIX = u32(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000);
