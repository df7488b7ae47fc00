// Answers what can be read now: which parts of a file have to be read before it can be planned.

import { open } from 'node:fs/promises';
import type { ByteRanges } from '../lib/byte-ranges.js';
import type { ReadRange } from '../media/mp4/sample-tables.js';
import { findOpening } from '../packager/find-opening.js';
import type { BlobStore } from '../storage/blob-store.js';
import { sourceKey } from '../storage/keys.js';

/** Bytes at the start of a file that are read in addition to its index. */
const HEAD_BYTES = 64 * 1024;
/** Bytes of the first frames, which the probe decodes. */
const FIRST_FRAMES_BYTES = 1024 * 1024;

interface Source {
  readonly assetId: string;
  readonly blobs: Pick<BlobStore, 'openLocal'>;
}

/** What the probe reads of the asset's source; or why it can't be known from parts of the file. */
export const openingRanges = async (
  context: Source,
  sizeBytes: number,
  isPrefix = false,
): Promise<ByteRanges | string> => {
  const opening = await findOpening(rangeReader(context), sizeBytes);
  if (typeof opening === 'string') return opening;
  const framesStart = opening[0] && opening[0].start < HEAD_BYTES ? opening[0].end : 0;
  // Of a file that is still arriving, only the bytes that are really read are waited for.
  const firstFrames = isPrefix ? [] : [{ start: framesStart, end: framesStart + FIRST_FRAMES_BYTES }];
  return [{ start: 0, end: HEAD_BYTES }, ...opening, ...firstFrames];
};

/** Reads small ranges, such as box headers. */
const rangeReader =
  ({ assetId, blobs }: Source): ReadRange =>
  async (offset, length) => {
    const blob = await blobs.openLocal(sourceKey(assetId), [{ start: offset, end: offset + length }]);
    try {
      const file = await open(blob.path);
      try {
        const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
        return buffer.subarray(0, bytesRead);
      } finally {
        await file.close();
      }
    } finally {
      await blob.release();
    }
  };
