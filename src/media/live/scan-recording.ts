import type { ReadRange } from '../mp4/sample-tables.js';
import {
  type PartRecord,
  RECORDS_START,
  type RecordingFact,
  readFact,
  readRecordHead,
  writeRecordingStart,
} from './recording-format.js';

/** Covers the index of a usual part, so that one read suffices. */
const WINDOW_BYTES = 2048;

export interface RecordingVisitor {
  fact(fact: RecordingFact): void;
  /**
   * @param offset of the record in the file
   * @param bytes its beginning
   */
  part(part: PartRecord, offset: number, sizeBytes: number, bytes: Uint8Array): void | Promise<void>;
}

/**
 * Visits the records of a file of `sizeBytes` bytes in order, and returns where the last whole one
 * ends. What follows was being written when the process ended. Returns 0 for a file that doesn't
 * begin as a recording, and `sizeBytes` or less for any.
 */
export const scanRecording = async (read: ReadRange, sizeBytes: number, visitor: RecordingVisitor): Promise<number> => {
  if (sizeBytes < RECORDS_START) return 0;
  const start = await read(0, RECORDS_START);
  // The size of the `mdat` differs after the end.
  if (Buffer.compare(start.subarray(0, RECORDS_START - 8), writeRecordingStart().subarray(0, RECORDS_START - 8)) !== 0)
    return 0;
  let offset = RECORDS_START;
  while (offset < sizeBytes) {
    const bytes = await read(offset, Math.min(WINDOW_BYTES, sizeBytes - offset));
    const head = readRecordHead(bytes);
    if (!head || offset + head.sizeBytes > sizeBytes) break;
    if (head.kind === 'part') await visitor.part(head.part, offset, head.sizeBytes, bytes);
    else {
      const record = bytes.length >= head.sizeBytes ? bytes : await read(offset, head.sizeBytes);
      const fact = readFact(record.subarray(0, head.sizeBytes));
      if (!fact) break;
      visitor.fact(fact);
    }
    offset += head.sizeBytes;
  }
  return offset;
};
