import { concat, fullBox, u32, u64 } from './box-writer.js';

/** One fragment of a file: a `moof` and its `mdat`. */
export interface IndexedFragment {
  readonly startTicks: number;
  readonly endTicks: number;
  readonly sizeBytes: number;
}

/**
 * ISO/IEC 14496-12, 8.16.3: the count of references has 16 bits, their size 31 bits and their
 * duration 32 bits.
 */
const MAX_REFERENCES = 2 ** 16 - 1;
const MAX_SIZE_BYTES = 2 ** 31 - 1;
const MAX_DURATION_TICKS = 2 ** 32 - 1;
/** Each fragment starts with a key frame that starts it in presentation order too (SAP type 1). */
const STARTS_WITH_KEY_FRAME = 0x9000_0000;

/**
 * Writes what precedes the fragments of a file: its init segment and a `sidx`, with which a demuxer
 * finds a time without reading the fragments before it. The `sidx` is left out when the fragments
 * are not in order or it can't describe them.
 */
export const writeIndexedHead = (
  init: Uint8Array,
  timescale: number,
  fragments: readonly IndexedFragment[],
): Uint8Array => concat([init, writeSegmentIndex(timescale, fragments) ?? Uint8Array.of()]);

const writeSegmentIndex = (timescale: number, fragments: readonly IndexedFragment[]): Uint8Array | undefined => {
  const durations = fragments.map(
    ({ startTicks, endTicks }, at) => (fragments[at + 1]?.startTicks ?? endTicks) - startTicks,
  );
  const first = fragments[0]?.startTicks;
  if (first === undefined || first < 0 || fragments.length > MAX_REFERENCES) return undefined;
  if (durations.some((ticks) => ticks <= 0 || ticks > MAX_DURATION_TICKS)) return undefined;
  if (fragments.some(({ sizeBytes }) => sizeBytes <= 0 || sizeBytes > MAX_SIZE_BYTES)) return undefined;
  const references = fragments.flatMap(({ sizeBytes }, at) => [sizeBytes, durations[at]!, STARTS_WITH_KEY_FRAME]);
  return fullBox('sidx', 1, 0, u32(1, timescale), u64(first), u64(0), u32(fragments.length, ...references));
};
