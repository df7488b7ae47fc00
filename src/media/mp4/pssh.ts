import { asFullBox, listBoxes, viewOf } from './box-reader.js';
import { bytesOf, concat, fullBox, u32 } from './box-writer.js';

/** Registered identifiers of key systems: UUIDs in lower case. */
export const systemIds = {
  common: '1077efec-c0b2-4d02-ace3-3c1e52e2fb4b',
  widevine: 'edef8ba9-79d6-4ace-a3c8-27dcd51d21ed',
  playready: '9a04f079-9840-4286-ab92-e65be0885f95',
  fairplay: '94ce86fb-07ff-4f43-adb8-93d2fa968ca2',
} as const;

export const uuidBytes = (uuid: string): Uint8Array => Buffer.from(uuid.replaceAll('-', ''), 'hex');

const littleEndian = (value: number, count: number): Uint8Array =>
  Uint8Array.from({ length: count }, (_, index) => (value >>> (8 * index)) & 0xff);

/**
 * A `pssh` box for a key system (ISO/IEC 23001-7, 8.1). With `kids` it has version 1, which lists
 * the key IDs.
 */
export const psshBox = (systemId: string, data: Uint8Array, kids: readonly Uint8Array[] = []): Uint8Array =>
  fullBox(
    'pssh',
    kids.length > 0 ? 1 : 0,
    0,
    uuidBytes(systemId),
    ...(kids.length > 0 ? [u32(kids.length), ...kids] : []),
    u32(data.length),
    data,
  );

/** Whether the bytes are exactly one complete box of the key system. */
export const isPsshBox = (bytes: Uint8Array, systemId: string): boolean => {
  const [box, second] = listBoxes(bytes) ?? [];
  // A size of 0 extends to the end of the file and would include the boxes that follow.
  if (box?.type !== 'pssh' || second || viewOf(bytes).getUint32(0) === 0) return false;
  const content = asFullBox(bytes, box)?.content;
  return (
    content !== undefined &&
    box.end - content >= 20 &&
    Buffer.compare(bytes.subarray(content, content + 16), uuidBytes(systemId)) === 0
  );
};

/**
 * Fields of Widevine's PSSH message: key ID (2) and protection scheme (9, the characters `cbcs`).
 */
export const widevineData = (kid: Uint8Array): Uint8Array =>
  concat([bytesOf(0x12, kid.length), kid, bytesOf(0x48, 0xf3, 0xc6, 0x89, 0x9b, 0x06)]);

/** A GUID has its first three numbers in little-endian order. */
const guidOrder = (uuid: Uint8Array): Uint8Array =>
  Uint8Array.from([3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15], (index) => uuid[index]!);

/** A PlayReady object with one record: a header of version 4.3 that names the key. */
export const playreadyObject = (kid: Uint8Array): Uint8Array => {
  const value = Buffer.from(guidOrder(kid)).toString('base64');
  const header =
    '<WRMHEADER xmlns="http://schemas.microsoft.com/DRM/2007/03/PlayReadyHeader" version="4.3.0.0"><DATA><PROTECTINFO><KIDS>' +
    `<KID ALGID="AESCBC" VALUE="${value}"></KID></KIDS></PROTECTINFO></DATA></WRMHEADER>`;
  const text = Buffer.from(header, 'utf16le');
  const record = concat([littleEndian(1, 2), littleEndian(text.length, 2), text]);
  return concat([littleEndian(record.length + 6, 4), littleEndian(1, 2), record]);
};
