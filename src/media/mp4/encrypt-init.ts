import { asFullBox, findBox, listBoxes, type Mp4Box, viewOf } from './box-reader.js';
import { ascii, box, bytesOf, concat, fullBox, u32 } from './box-writer.js';
import { VIDEO_PATTERN } from './cbcs.js';

export interface TrackEncryption {
  /** Key ID: 16 bytes in the byte order of a written UUID. */
  readonly kid: Uint8Array;
  /** Constant initialization vector: 16 bytes. */
  readonly iv: Uint8Array;
  /** Complete `pssh` boxes, appended to `moov` in this order. */
  readonly pssh: readonly Uint8Array[];
}

const PROTECTED_ENTRY = { avc1: 'encv', mp4a: 'enca' } as const;

/**
 * `tenc` of version 1 (ISO/IEC 23001-7, 8.2): the samples have no initialization vectors of their
 * own.
 */
const trackEncryptionBox = (isVideo: boolean, { kid, iv }: TrackEncryption): Uint8Array => {
  const pattern = isVideo ? VIDEO_PATTERN.encrypted * 16 + VIDEO_PATTERN.clear : 0;
  return fullBox('tenc', 1, 0, bytesOf(0, pattern, 1, 0), kid, bytesOf(iv.length), iv);
};

const CONTAINERS = ['moov', 'trak', 'mdia', 'minf', 'stbl'];

/**
 * The init segment of the same track for samples encrypted with scheme `cbcs`: the sample entry
 * becomes `encv` or `enca` with the key ID, the vector and the original format in `sinf`, and the
 * `pssh` boxes are added.
 * @throws Error when the init segment is not one of a single `avc1` or `mp4a` track
 */
export const encryptInit = (init: Uint8Array, encryption: TrackEncryption): Uint8Array => {
  const entry = entryOf(init);
  const isVideo = entry.type === 'avc1';
  if (!isVideo && entry.type !== 'mp4a') throw new Error(`samples of type ${entry.type} can't be encrypted`);
  const protection = box(
    'sinf',
    box('frma', ascii(entry.type)),
    fullBox('schm', 0, 0, ascii('cbcs'), u32(0x10000)),
    box('schi', trackEncryptionBox(isVideo, encryption)),
  );
  const protectedEntry = box(
    PROTECTED_ENTRY[entry.type as keyof typeof PROTECTED_ENTRY],
    init.subarray(entry.content, entry.end),
    protection,
  );

  const rewrite = (parent: Mp4Box): Uint8Array => {
    if (parent.type === 'stsd') return fullBox('stsd', 0, 0, u32(1), protectedEntry);
    if (!CONTAINERS.includes(parent.type)) return init.subarray(parent.start, parent.end);
    const children = (listBoxes(init, parent.content, parent.end) ?? []).map(rewrite);
    return box(parent.type, ...children, ...(parent.type === 'moov' ? encryption.pssh : []));
  };
  return concat((listBoxes(init) ?? []).map(rewrite));
};

const entryOf = (init: Uint8Array): Mp4Box => {
  const table = findBox(init, ['moov', 'trak', 'mdia', 'minf', 'stbl', 'stsd']);
  const content = asFullBox(init, table)?.content;
  const entries = content === undefined ? undefined : listBoxes(init, content + 4, table!.end);
  if (entries?.length !== 1) throw new Error('not the init segment of one track');
  return entries[0]!;
};

/** SPS and PPS units of the `avcC` record in an init segment; none for audio. */
export const parameterSetsOf = (init: Uint8Array): Uint8Array[] => {
  const entry = entryOf(init);
  if (entry.type !== 'avc1') return [];
  // After the fixed fields of a visual sample entry (ISO/IEC 14496-12, 12.1.3).
  const record = findBox(init, ['avcC'], entry.content + 78, entry.end);
  if (!record) throw new Error('an avc1 entry without avcC');
  const view = viewOf(init);
  const units: Uint8Array[] = [];
  let offset = record.content + 5;
  for (const mask of [0x1f, 0xff]) {
    const count = view.getUint8(offset++) & mask;
    for (let index = 0; index < count; index++) {
      const size = view.getUint16(offset);
      units.push(init.subarray(offset + 2, offset + 2 + size));
      offset += 2 + size;
    }
  }
  return units;
};
