import { PART_HEAD_BYTES, RECORDS_START, readRecordHead, recordIndexBytes } from '../../media/live/recording-format.js';
import { concat } from '../../media/mp4/box-writer.js';

/**
 * The index of a replica: what a server must know of each record to continue the recording, without
 * the media. It is the file without what follows on the heads of its parts, in blocks: a block is
 * written again while it grows, and then never more.
 */
export interface IndexBlock {
  /** Where its first record begins in the file. */
  readonly startBytes: number;
  readonly bytes: Uint8Array;
}

/** Twelve hours of video and audio have sixty blocks. */
const BLOCK_BYTES = 256 * 1024;

interface OpenBlock {
  readonly startBytes: number;
  readonly heads: Uint8Array[];
  sizeBytes: number;
}

/** Makes the index of a file that grows. */
export class ReplicaIndex {
  #blocks: OpenBlock[];
  /** Where the next record begins. */
  #endBytes: number;
  /** Of the record at `#endBytes`, when a chunk has ended within it. */
  #rest: Uint8Array = new Uint8Array();
  #hasChanged = false;

  /** @param startBytes where the first record begins that it has to list */
  constructor(startBytes: number = RECORDS_START) {
    this.#endBytes = startBytes;
    this.#blocks = [{ startBytes, heads: [], sizeBytes: 0 }];
  }

  get endBytes(): number {
    return this.#endBytes;
  }

  /** Adds the records of bytes of the file, which follow those before. Known ones are ignored. */
  add(offset: number, chunk: Uint8Array): void {
    const start = offset - this.#rest.length;
    const bytes = this.#rest.length > 0 ? concat([this.#rest, chunk]) : chunk;
    this.#rest = new Uint8Array();
    while (this.#endBytes < start + bytes.length) {
      const record = bytes.subarray(this.#endBytes - start);
      const head = readRecordHead(record);
      const neededBytes = head && recordIndexBytes(head);
      // What nobody can read is not listed, nor what follows.
      if (!head && record.length >= PART_HEAD_BYTES) {
        this.#endBytes = Number.POSITIVE_INFINITY;
        return;
      }
      if (neededBytes === undefined || record.length < neededBytes) {
        this.#rest = record.slice();
        return;
      }
      this.append(record.subarray(0, neededBytes), head!.sizeBytes);
    }
  }

  /** Adds the next record of `sizeBytes`, which begins with `head`. */
  append(head: Uint8Array, sizeBytes: number): void {
    let block = this.#blocks.at(-1)!;
    if (block.sizeBytes >= BLOCK_BYTES) {
      block = { startBytes: this.#endBytes, heads: [], sizeBytes: 0 };
      this.#blocks.push(block);
    }
    block.heads.push(head.slice());
    block.sizeBytes += head.length;
    this.#endBytes += sizeBytes;
    this.#hasChanged = true;
  }

  /** Passes each block that has changed to `put`. */
  async save(put: (block: IndexBlock) => Promise<void>): Promise<void> {
    if (!this.#hasChanged) return;
    this.#hasChanged = false;
    try {
      for (let block = this.#blocks[0]!; ; block = this.#blocks[0]!) {
        const isFull = this.#blocks.length > 1;
        await put({ startBytes: block.startBytes, bytes: concat(block.heads) });
        if (!isFull) return;
        this.#blocks = this.#blocks.slice(1);
      }
    } catch (error) {
      this.#hasChanged = true;
      throw error;
    }
  }
}

export interface IndexRecord {
  readonly offset: number;
  readonly sizeBytes: number;
  /** A fact as a whole, and of a part its head. */
  readonly bytes: Uint8Array;
}

/** The records of a block, in order. */
function* indexRecords({ startBytes, bytes }: IndexBlock): Generator<IndexRecord> {
  let offset = startBytes;
  for (let at = 0; at < bytes.length; ) {
    const head = readRecordHead(bytes.subarray(at));
    if (!head) return;
    const end = at + recordIndexBytes(head);
    if (end > bytes.length) return;
    yield { offset, sizeBytes: head.sizeBytes, bytes: bytes.subarray(at, end) };
    offset += head.sizeBytes;
    at = end;
  }
}

/**
 * The index of what several servers have listed, without holes from the first record on.
 * @param blocks in the order of their starts; `endBytes` is how far a block counts
 */
export const joinBlocks = (blocks: readonly (IndexBlock & { readonly endBytes: number })[]): IndexRecord[] => {
  const joined: IndexRecord[] = [];
  let end = RECORDS_START;
  for (const block of blocks)
    for (const record of indexRecords(block)) {
      const recordEnd = record.offset + record.sizeBytes;
      if (record.offset > end || recordEnd > block.endBytes) break;
      if (record.offset < end) continue;
      joined.push(record);
      end = recordEnd;
    }
  return joined;
};
