import type { ByteRanges } from '../lib/byte-ranges.js';
import { MAX_HEADER_BYTES } from '../media/matroska/ebml.js';
import { findMatroskaLayout, isMatroska } from '../media/matroska/layout.js';
import { findMoovRange, type ReadRange } from '../media/mp4/sample-tables.js';

/** More than the index of a twelve-hour file. */
const MAX_MOOV_BYTES = 64 * 2 ** 20;

export const NOT_INDEXED = 'the file is not an MP4, MOV, Matroska or WebM';

/** What a demuxer reads when it opens the file; a reason when that can't be told. */
export const findOpening = async (read: ReadRange, sizeBytes: number): Promise<ByteRanges | string> => {
  if (isMatroska(await read(0, Math.min(MAX_HEADER_BYTES, sizeBytes)))) {
    const layout = await findMatroskaLayout(read, sizeBytes);
    return typeof layout === 'string' ? `Matroska: ${layout}` : layout.opening;
  }
  const moov = await findMoovRange(read, sizeBytes);
  if (!moov) return NOT_INDEXED;
  return moov.end - moov.start > MAX_MOOV_BYTES ? 'the index of the file is too large' : [moov];
};
