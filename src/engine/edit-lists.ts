import { closeSync, openSync, readSync } from 'node:fs';

/** A `moov` larger than this is not read: its edit lists count as not simple. */
const MAX_MOOV_BYTES = 256 * 1024 * 1024;
const NORMAL_RATE = 0x10000;

interface Box {
  readonly type: string;
  readonly content: Buffer;
}

/** Boxes inside the content of another; stops at the first whose size makes no sense. */
const childrenOf = (content: Buffer): Box[] => {
  const boxes: Box[] = [];
  for (let offset = 0; offset + 8 <= content.length; ) {
    const size = content.readUInt32BE(offset);
    if (size < 8 || offset + size > content.length) break;
    boxes.push({
      type: content.toString('latin1', offset + 4, offset + 8),
      content: content.subarray(offset + 8, offset + size),
    });
    offset += size;
  }
  return boxes;
};

const find = (content: Buffer, type: string): Buffer | undefined =>
  childrenOf(content).find((box) => box.type === type)?.content;

/** Content of the top-level `moov`, wherever it is; undefined when there is none. */
const readMoov = (path: string): Buffer | undefined => {
  const file = openSync(path, 'r');
  try {
    const header = Buffer.alloc(16);
    for (let position = 0; readSync(file, header, 0, 16, position) >= 8; ) {
      const short = header.readUInt32BE(0);
      const headerBytes = short === 1 ? 16 : 8;
      const size = short === 1 ? Number(header.readBigUInt64BE(8)) : short;
      if (header.toString('latin1', 4, 8) === 'moov') {
        if (size > MAX_MOOV_BYTES || size < headerBytes) return undefined;
        const content = Buffer.alloc(size - headerBytes);
        return content.subarray(0, readSync(file, content, 0, content.length, position + headerBytes));
      }
      if (size < headerBytes) return undefined;
      position += size;
    }
    return undefined;
  } finally {
    closeSync(file);
  }
};

/** Empty edits (a late start), then at most one edit at normal rate (ISO/IEC 14496-12, 8.6.6). */
const isSimple = (editList: Buffer): boolean => {
  if (editList.length < 8) return false;
  const long = editList[0] === 1;
  const entryBytes = long ? 20 : 12;
  const count = editList.readUInt32BE(4);
  if (8 + count * entryBytes > editList.length) return false;
  let edits = 0;
  for (let index = 0; index < count; index += 1) {
    const offset = 8 + index * entryBytes;
    const mediaTime = long ? editList.readBigInt64BE(offset + 8) : BigInt(editList.readInt32BE(offset + 4));
    if (mediaTime < 0n && edits > 0) return false;
    if (mediaTime < 0n) continue;
    edits += 1;
    if (edits > 1 || editList.readUInt32BE(offset + entryBytes - 4) !== NORMAL_RATE) return false;
  }
  return true;
};

/**
 * For each track (by its id) of an MP4 or MOV: whether its edit list does no more than shift the start or cut the ends.
 * Tracks without an edit list are absent.
 */
export const readEditLists = (path: string): ReadonlyMap<number, boolean> => {
  const simple = new Map<number, boolean>();
  const moov = readMoov(path);
  if (moov === undefined) return simple;
  for (const { type, content } of childrenOf(moov)) {
    const header = type === 'trak' ? find(content, 'tkhd') : undefined;
    const edits = type === 'trak' ? find(content, 'edts') : undefined;
    const editList = edits && find(edits, 'elst');
    if (header === undefined || editList === undefined || header.length < 24) continue;
    simple.set(header.readUInt32BE(header[0] === 1 ? 20 : 12), isSimple(editList));
  }
  return simple;
};
