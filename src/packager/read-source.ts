import type { ByteRanges } from '../lib/byte-ranges.js';
import { isKinoraError, KinoraError } from '../lib/errors.js';

/** Bytes fetched after the missing parts, because they will probably be needed next. */
const AROUND_BYTES = 1024 * 1024;
/**
 * Each try adds at least one part. If parts are still missing after the last try, the read fails.
 */
const MAX_TRIES = 16;

const SHORT: ReadonlySet<string> = new Set(['range_missing', 'media_failed']);

/** What `use` throws to get the whole file instead of parts. */
export const needsWholeFile = (): KinoraError =>
  new KinoraError('range_missing', { messages: ['The whole file is needed'], details: { isWhole: true } });

// What `LocalBlob` and `OpenFrames` have in common.
interface Released {
  release(): Promise<void>;
}

/** What a job reads of a source. */
export interface SourceNeed {
  /** The bytes that are known to be read. */
  readonly ranges: ByteRanges;
  /** Whether the whole file can be read if these bytes are not sufficient. */
  readonly isStored: boolean;
}

/**
 * Calls `use` with what `open` opens: the bytes of `need`, or the whole file if it is undefined. If
 * `use` finds other bytes missing, it runs again with those added. If it fails, or never has
 * enough, it runs with the whole file.
 */
export const readSource = async <S extends Released, T>(
  open: (needed: ByteRanges | undefined) => Promise<S>,
  need: SourceNeed | undefined,
  use: (source: S) => Promise<T>,
): Promise<T> => {
  let ranges = need?.ranges;
  for (let tries = 1; ; tries += 1) {
    const source = await open(ranges);
    try {
      return await use(source);
    } catch (error) {
      const isWhole = isKinoraError(error, 'range_missing') && error.details?.isWhole === true;
      const isMissing = isKinoraError(error, 'range_missing') && !isWhole && tries < MAX_TRIES;
      // Where bytes are missing, a demuxer may also find the file damaged.
      if (!isMissing && need?.isStored && ranges && isKinoraError(error) && SHORT.has(error.code)) {
        ranges = undefined;
        continue;
      }
      if (!isMissing) throw error;
      const missing = error.details?.missing as ByteRanges;
      const around = Math.ceil(AROUND_BYTES / missing.length);
      ranges = [...(ranges ?? []), ...missing.map(({ start, end }) => ({ start, end: end + around }))];
    } finally {
      await source.release();
    }
  }
};
