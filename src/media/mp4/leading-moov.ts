import type { ByteRange } from '../../lib/byte-ranges.js';
import { type Mp4Box, readBoxHeader, viewOf } from './box-reader.js';
import type { ReadRange } from './sample-tables.js';

/** Boxes that may precede `moov` in a file whose index is at its start. */
const BEFORE_MOOV: ReadonlySet<string> = new Set(['ftyp', 'free', 'skip', 'wide', 'uuid', 'pnot']);
const MAX_BOXES = 64;
const MAX_HEADER_BYTES = 16;

/** The complete `moov` box, or the number of received bytes at which to look again. */
export type LeadingMoov = { readonly moov: ByteRange } | { readonly atBytes: number };

/**
 * Looks for the index of an MP4 or MOV file in its first `receivedBytes` bytes. Undefined when the
 * media data comes first, when the file is fragmented, and for other formats: nothing tells then
 * where the frames will be.
 */
export const findLeadingMoov = async (
  read: ReadRange,
  receivedBytes: number,
  sizeBytes: number,
): Promise<LeadingMoov | undefined> => {
  let offset = 0;
  for (let count = 0; count < MAX_BOXES; count += 1) {
    if (offset + MAX_HEADER_BYTES > sizeBytes) return undefined;
    if (offset + MAX_HEADER_BYTES > receivedBytes) return { atBytes: offset + MAX_HEADER_BYTES };
    const box = await readHeader(read, offset, sizeBytes);
    if (box?.type === 'moov') {
      if (box.end > receivedBytes) return { atBytes: box.end };
      return (await isFragmented(read, box)) ? undefined : { moov: { start: box.start, end: box.end } };
    }
    if (!box || !BEFORE_MOOV.has(box.type)) return undefined;
    offset = box.end;
  }
  return undefined;
};

/** With positions in the file. */
const readHeader = async (read: ReadRange, offset: number, limit: number): Promise<Mp4Box | undefined> => {
  const bytes = await read(offset, Math.min(MAX_HEADER_BYTES, limit - offset));
  const box = readBoxHeader(viewOf(bytes), 0, limit - offset);
  return box && { type: box.type, start: offset, content: offset + box.content, end: offset + box.end };
};

/** True also for a damaged `moov`. */
const isFragmented = async (read: ReadRange, moov: Mp4Box): Promise<boolean> => {
  let offset = moov.content;
  for (let count = 0; count < MAX_BOXES * 4 && offset < moov.end; count += 1) {
    const child = await readHeader(read, offset, moov.end);
    if (!child || child.type === 'mvex') return true;
    offset = child.end;
  }
  return offset < moov.end;
};
