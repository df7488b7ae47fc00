import type { ByteRange, ByteRanges } from '../lib/byte-ranges.js';
import { isKinoraError } from '../lib/errors.js';

/** Bytes fetched after a missing part, because they will probably be needed next. */
const AROUND_BYTES = 1024 * 1024;
/** Each try adds at least one part. If parts are still missing after the last try, the read fails. */
const MAX_TRIES = 16;

interface Released {
  release(): Promise<void>;
}

/**
 * Calls `use` with what `open` opens. `needed` lists the bytes that are known to be read; undefined means the whole
 * file. If `use` finds other bytes missing, it runs again with those added.
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
