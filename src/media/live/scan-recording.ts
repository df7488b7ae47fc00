import type { ReadRange } from '../mp4/sample-tables.js';
import {
  type PartRecord,
  RECORDS_START,
  type RecordingFact,
  readFact,
  readRecordHead,
  writeRecordingStart,
} from './recording-format.js';

/** The beginning of a record that visitors get: covers the index of a usual part. */
const HEAD_BYTES = 2048;
/** At least a part of audio and what follows it, at most what is worth reading of large parts. */
const MIN_WINDOW_BYTES = 16 * 1024;
const MAX_WINDOW_BYTES = 256 * 1024;
/** Records that a window serves: with fewer it gets smaller, with more larger. */
const FEW_RECORDS = 2;

export interface RecordingVisitor {
  /** @param bytes of the whole record */
  fact(fact: RecordingFact, bytes: Uint8Array): void;
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
 * @param from where a record begins, in a file that is known to be a recording
 */
export const scanRecording = async (
  read: ReadRange,
  sizeBytes: number,
  visitor: RecordingVisitor,
  from = 0,
): Promise<number> => {
  if (sizeBytes < RECORDS_START) return 0;
  if (from === 0 && !(await isRecording(read))) return 0;
  const window = new ReadWindow(read, sizeBytes);
  let offset = from || RECORDS_START;
  while (offset < sizeBytes) {
    const bytes = await window.read(offset);
    const head = readRecordHead(bytes);
    if (!head || offset + head.sizeBytes > sizeBytes) break;
    if (head.kind === 'part') await visitor.part(head.part, offset, head.sizeBytes, bytes);
    else {
      const record = bytes.length >= head.sizeBytes ? bytes : await read(offset, head.sizeBytes);
      const whole = record.subarray(0, head.sizeBytes);
      const fact = readFact(whole);
      if (!fact) break;
      visitor.fact(fact, whole);
    }
    offset += head.sizeBytes;
  }
  return offset;
};

const isRecording = async (read: ReadRange): Promise<boolean> => {
  // The size of the `mdat` differs after the end.
  const compared = RECORDS_START - 8;
  const start = await read(0, RECORDS_START);
  return Buffer.compare(start.subarray(0, compared), writeRecordingStart().subarray(0, compared)) === 0;
};

/** Reads ahead, because a recording of twelve hours has 260,000 records. */
class ReadWindow {
  readonly #read: ReadRange;
  readonly #fileBytes: number;
  #windowBytes = MIN_WINDOW_BYTES;
  #start = 0;
  #bytes: Uint8Array = new Uint8Array();
  #served = FEW_RECORDS;

  constructor(read: ReadRange, fileBytes: number) {
    this.#read = read;
    this.#fileBytes = fileBytes;
  }

  /** The beginning of the record at `offset`. */
  async read(offset: number): Promise<Uint8Array> {
    const headBytes = Math.min(HEAD_BYTES, this.#fileBytes - offset);
    if (offset + headBytes > this.#start + this.#bytes.length) {
      if (this.#served > FEW_RECORDS) this.#windowBytes = Math.min(this.#windowBytes * 2, MAX_WINDOW_BYTES);
      else if (this.#served < FEW_RECORDS) this.#windowBytes = Math.max(this.#windowBytes / 2, MIN_WINDOW_BYTES);
      this.#served = 0;
      this.#start = offset;
      this.#bytes = await this.#read(offset, Math.min(this.#windowBytes, this.#fileBytes - offset));
    }
    this.#served += 1;
    return this.#bytes.subarray(offset - this.#start, offset - this.#start + HEAD_BYTES);
  }
}
