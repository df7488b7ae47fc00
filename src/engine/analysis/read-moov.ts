import { open } from 'node:fs/promises';
import { findMoov } from '../../media/mp4/sample-tables.js';
import type { MediaSource } from '../../pool/protocol.js';
import { rangeReader } from '../ffmpeg/staged-ranges.js';

/**
 * The whole `moov` box of an MP4 or MOV; undefined when it is missing, cut off or too large.
 * @throws KinoraError `range_missing`
 */
export const readMoov = async (source: MediaSource): Promise<Uint8Array | undefined> => {
  const file = await open(source.path);
  try {
    return await findMoov(rangeReader(file, source), (await file.stat()).size);
  } finally {
    await file.close();
  }
};
