import type { FileHandle } from 'node:fs/promises';
import { type ByteRange, type ByteRanges, coversRange } from '../../lib/byte-ranges.js';
import { isKinoraError, KinoraError } from '../../lib/errors.js';
import type { ReadRange } from '../../media/mp4/sample-tables.js';
import type { MediaSource } from '../../pool/protocol.js';

/**
 * Readers see zeros outside the stored ranges, and FFmpeg turns those into wrong frames without
 * reporting an error.
 * @throws KinoraError `range_missing` when some of the bytes are missing
 */
export const checkStaged = ({ staged }: MediaSource, position: number, sizeBytes: number): void => {
  if (!staged || coversRange(staged.ranges, position, position + sizeBytes)) return;
  const start = Math.max(position, 0);
  throw rangesMissing([{ start, end: start + Math.max(sizeBytes, 1) }]);
};

const rangesMissing = (missing: ByteRanges): KinoraError => new KinoraError('range_missing', { details: { missing } });

/**
 * Calls `read` with each position of a file. What is missing at any of them is reported together,
 * because each report costs another run of the job.
 * @throws KinoraError `range_missing`
 */
export const readAll = <P, T>(positions: readonly P[], read: (position: P) => T): T[] => {
  const missing: ByteRange[] = [];
  const results = positions.flatMap((position) => {
    try {
      return [read(position)];
    } catch (error) {
      if (!isKinoraError(error, 'range_missing')) throw error;
      const { missing: here } = error.details as { missing: ByteRanges };
      missing.push(...here);
      return [];
    }
  });
  if (missing.length > 0) throw rangesMissing(missing);
  return results;
};

/** Reads parts of a source's open file. */
export const rangeReader =
  (file: FileHandle, source: MediaSource): ReadRange =>
  async (offset, length) => {
    checkStaged(source, offset, length);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
    return buffer.subarray(0, bytesRead);
  };
