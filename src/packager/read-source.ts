import type { ByteRange, ByteRanges } from '../lib/byte-ranges.js';
import { isKinoraError } from '../lib/errors.js';

/** Behind a part that turned out to be missing: what follows is wanted most likely. */
const AROUND_BYTES = 1024 * 1024;
/** Each one brings at least a part more; a reader that never has enough is refused. */
const MAX_TRIES = 16;

interface Released {
  release(): Promise<void>;
}

/**
 * Runs `use` with what `open` opens. `needed` says which bytes are read, as far as that is known; a job that finds others
 * missing is run again with them. Undefined: the file is read as a whole.
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
