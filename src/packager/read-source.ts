import type { ByteRange, ByteRanges } from '../lib/byte-ranges.js';
import { isKinoraError } from '../lib/errors.js';

/** Read in addition to a missing part: what follows it will probably be needed next. */
const AROUND_BYTES = 1024 * 1024;
/** Each try adds at least one part; a reader that still lacks something after the last one is refused. */
const MAX_TRIES = 16;

interface Released {
  release(): Promise<void>;
}

/**
 * Calls `use` with what `open` opens. `needed` lists the bytes that will be read, as far as they are known. A job
 * that finds others missing runs again with those added. Undefined means that the whole file is read.
 */
export const readSource = async <S extends Released, T>(
  open: (needed: ByteRanges | undefined) => Promise<S>,
  needed: ByteRanges | undefined,
  use: (source: S) => Promise<T>,
): Promise<T> => {
  let ranges = needed;
  for (let tries = 1; ; tries += 1) {
    const source = await open(ranges);
    try {
      return await use(source);
    } catch (error) {
      if (!isKinoraError(error, 'range_missing') || tries >= MAX_TRIES) throw error;
      const missing = error.details?.missing as ByteRange;
      ranges = [...(ranges ?? []), { start: missing.start, end: missing.end + AROUND_BYTES }];
    } finally {
      await source.release();
    }
  }
};
