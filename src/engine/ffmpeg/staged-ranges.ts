import type { FileHandle } from 'node:fs/promises';
import { coversRange } from '../../lib/byte-ranges.js';
import { KinoraError } from '../../lib/errors.js';
import type { ReadRange } from '../../media/mp4/sample-tables.js';
import type { MediaSource } from '../../pool/protocol.js';

/**
 * Readers see zeros outside the stored ranges, and FFmpeg turns those into wrong frames without reporting an error.
 * @throws KinoraError `range_missing` when some of the bytes are missing
 */
export const checkStaged = ({ staged }: MediaSource, position: number, sizeBytes: number): void => {
  if (!staged || coversRange(staged.ranges, position, position + sizeBytes)) return;
  const missing = { start: Math.max(position, 0), end: Math.max(position, 0) + Math.max(sizeBytes, 1) };
  throw new KinoraError('range_missing', { details: { missing } });
};

/** Reads parts of a source's open file. */
export const rangeReader =
  (file: FileHandle, source: MediaSource): ReadRange =>
  async (offset, length) => {
    checkStaged(source, offset, length);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
    return buffer.subarray(0, bytesRead);
  };
