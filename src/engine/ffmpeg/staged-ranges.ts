import type { FileHandle } from 'node:fs/promises';
import { coversRange } from '../../lib/byte-ranges.js';
import { KinoraError } from '../../lib/errors.js';
import type { ReadRange } from '../../media/mp4/sample-tables.js';
import type { MediaSource } from '../../pool/protocol.js';

/**
 * Of what lies outside, a reader sees zeros, and FFmpeg makes wrong frames of them without an error that counts.
 * @throws KinoraError `range_missing` when not all of the bytes are there
 */
export const checkStaged = ({ staged }: MediaSource, position: number, sizeBytes: number): void => {
  if (!staged || coversRange(staged, position, position + sizeBytes)) return;
  const missing = { start: Math.max(position, 0), end: Math.max(position, 0) + Math.max(sizeBytes, 1) };
  throw new KinoraError('range_missing', { details: { missing } });
};

/** Reads parts of the open file of a source. */
export const rangeReader =
  (file: FileHandle, source: MediaSource): ReadRange =>
  async (offset, length) => {
    checkStaged(source, offset, length);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
    return buffer.subarray(0, bytesRead);
  };
