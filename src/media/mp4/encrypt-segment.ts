import { AvcParameterSets } from './avc-slice-header.js';
import { asFullBox, findBox, listBoxes, type Mp4Box, viewOf } from './box-reader.js';
import { concat, fullBox, u16, u32 } from './box-writer.js';
import type { CbcsCipher } from './cbcs.js';

/** Size of a NAL unit length field: 4 bytes in everything that Kinora writes. */
const LENGTH_BYTES = 4;
/** The largest count of clear bytes that one `senc` entry holds. */
const MAX_CLEAR_BYTES = 0xffff;

/** A part of a sample: clear bytes followed by bytes with one encrypted block in ten. */
interface Subsample {
  readonly clearBytes: number;
  readonly protectedBytes: number;
}

/**
 * Which bytes of a fragment are encrypted, and what is written before its samples. Independent of
 * the key.
 */
export interface EncryptionPlan {
  /** The encrypted segment up to its first sample. */
  readonly head: Uint8Array;
  /**
   * Offset of the samples in the clear segment. They end at the same distance from the end of both
   * segments.
   */
  readonly bodyStart: number;
  /** Start and end of each encrypted range as offsets in the clear segment, ascending. */
  readonly ranges: Uint32Array;
  /** True: one block in ten is encrypted (video). False: all blocks (audio). */
  readonly isPattern: boolean;
  /** Size of the encrypted segment. */
  readonly sizeBytes: number;
}

const isSlice = (type: number): boolean => type === 1 || type === 5;

/**
 * The parts of a sample that are encrypted: slice data. NAL sizes and headers, slice headers and
 * all other units stay clear.
 * @throws Error when the units do not fill the sample, or a slice header can't be read
 */
const planSubsamples = (sample: Uint8Array, sets: AvcParameterSets): Subsample[] => {
  const view = viewOf(sample);
  const subsamples: Subsample[] = [];
  let clearBytes = 0;
  const push = (protectedBytes: number): void => {
    for (; clearBytes > MAX_CLEAR_BYTES; clearBytes -= MAX_CLEAR_BYTES) {
      subsamples.push({ clearBytes: MAX_CLEAR_BYTES, protectedBytes: 0 });
    }
    if (clearBytes > 0 || protectedBytes > 0) subsamples.push({ clearBytes, protectedBytes });
    clearBytes = 0;
  };
  for (let offset = 0; offset < sample.length; ) {
    const size = offset + LENGTH_BYTES <= sample.length ? view.getUint32(offset) : 0;
    const end = offset + LENGTH_BYTES + size;
    if (size === 0 || end > sample.length) throw new Error('the units of a sample do not fill it');
    const unit = sample.subarray(offset + LENGTH_BYTES, end);
    offset = end;
    sets.add(unit);
    const headerBytes = isSlice(unit[0]! & 0x1f) ? sets.sliceHeaderBytes(unit) : size;
    const protectedBytes = size - headerBytes;
    clearBytes += LENGTH_BYTES + headerBytes;
    if (protectedBytes > 0) push(protectedBytes);
  }
  push(0);
  return subsamples;
};

/**
 * `saiz`, `saio` and `senc` of the samples (ISO/IEC 23001-7, 7.2). `saizStart` is the offset of
 * `saiz` in `moof`.
 */
const encryptionBoxes = (samples: readonly (readonly Subsample[])[], saizStart: number): Uint8Array[] => {
  const entries = samples.map((subsamples) =>
    concat([
      u16(subsamples.length),
      ...subsamples.map(({ clearBytes, protectedBytes }) => concat([u16(clearBytes), u32(protectedBytes)])),
    ]),
  );
  if (entries.some(({ length }) => length > 255)) throw new Error('a sample has too many slices to be encrypted');
  const entrySizes = Uint8Array.from(entries, ({ length }) => length);
  const saiz = fullBox('saiz', 0, 0, Uint8Array.of(0), u32(samples.length), entrySizes);
  // Version 0 of saio has a single 32-bit offset: that of the first entry after the header of senc.
  const saioBytes = 20;
  const saio = fullBox('saio', 0, 0, u32(1, saizStart + saiz.length + saioBytes + 16));
  return [saiz, saio, fullBox('senc', 0, 2, u32(samples.length), ...entries)];
};

interface Fragment {
  readonly moof: Mp4Box;
  readonly traf: Mp4Box;
  readonly mdat: Mp4Box;
  /** Offset of the content of `trun`. */
  readonly runContent: number;
}

const readFragment = (segment: Uint8Array): Fragment => {
  const boxes = listBoxes(segment) ?? [];
  const moof = boxes.find(({ type }) => type === 'moof');
  const mdat = boxes.find(({ type }) => type === 'mdat');
  const traf = moof && findBox(segment, ['traf'], moof.content, moof.end);
  const run = traf && asFullBox(segment, findBox(segment, ['trun'], traf.content, traf.end));
  // The data offset, then duration, size, flags and composition offset of each sample, as all
  // fragments of Kinora have them.
  if (!moof || !mdat || !traf || run?.flags !== 0xf01) throw new Error('not a fragment of one track');
  if (traf.end !== moof.end || moof.end > mdat.start) throw new Error('not a fragment of one track');
  return { moof, traf, mdat, runContent: run.content };
};

/** The bytes before the samples, with the encryption boxes at the end of `traf`. */
const writeHead = (segment: Uint8Array, { moof, traf, mdat, runContent }: Fragment, samples: Subsample[][]) => {
  const added = concat(encryptionBoxes(samples, moof.end - moof.start));
  const head = concat([segment.subarray(0, traf.end), added, segment.subarray(traf.end, mdat.content)]);
  const view = viewOf(head);
  for (const { start, end } of [moof, traf]) view.setUint32(start, end - start + added.length);
  view.setInt32(runContent + 4, view.getInt32(runContent + 4) + added.length);
  return head;
};

/**
 * Plans the encryption of a fragment of one track by scheme `cbcs`.
 * @param parameterSets SPS and PPS of the init segment; none for audio, whose samples are encrypted
 * completely
 * @throws Error when it is not a fragment that Kinora writes
 */
export const planEncryption = (segment: Uint8Array, parameterSets: readonly Uint8Array[]): EncryptionPlan => {
  const fragment = readFragment(segment);
  const { moof, mdat, runContent } = fragment;
  const view = viewOf(segment);
  const isPattern = parameterSets.length > 0;
  const sets = new AvcParameterSets();
  for (const unit of parameterSets) sets.add(unit);
  const samples: Subsample[][] = [];
  const ranges: number[] = [];
  let offset = moof.start + view.getInt32(runContent + 4);
  if (offset !== mdat.content) throw new Error('the samples do not begin where their data begins');
  for (let index = 0; index < view.getUint32(runContent); index++) {
    const end = offset + view.getUint32(runContent + 8 + 16 * index + 4);
    if (end > mdat.end) throw new Error('a sample lies outside of its fragment');
    if (isPattern) {
      const subsamples = planSubsamples(segment.subarray(offset, end), sets);
      samples.push(subsamples);
      for (const { clearBytes, protectedBytes } of subsamples) {
        offset += clearBytes + protectedBytes;
        if (protectedBytes > 0) ranges.push(offset - protectedBytes, offset);
      }
    } else ranges.push(offset, end);
    offset = end;
  }
  // With a constant vector and whole samples, no such boxes are needed (ISO/IEC 23001-7, 7.2.2).
  const head = isPattern ? writeHead(segment, fragment, samples) : segment.slice(0, mdat.content);
  return {
    head,
    bodyStart: mdat.content,
    ranges: Uint32Array.from(ranges),
    isPattern,
    sizeBytes: segment.length - mdat.content + head.length,
  };
};

/** Index of the first range that ends after `offset`. */
const rangeBehind = ({ ranges }: EncryptionPlan, offset: number): number => {
  let [low, high] = [0, ranges.length / 2];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ranges[2 * middle + 1]! > offset) high = middle;
    else low = middle + 1;
  }
  return low;
};

/**
 * The nearest offset at or before `offset` that is outside all ranges. Encryption can begin there.
 */
export const startOfWhole = (plan: EncryptionPlan, offset: number): number =>
  Math.min(offset, plan.ranges[2 * rangeBehind(plan, offset)] ?? offset);

/** The nearest offset at or after `offset` that is outside all ranges. */
export const endOfWhole = (plan: EncryptionPlan, offset: number): number => {
  const index = rangeBehind(plan, offset);
  const start = plan.ranges[2 * index];
  return start === undefined || start >= offset ? offset : plan.ranges[2 * index + 1]!;
};

/**
 * Encrypts `part` in place. It begins at `partStart` of the clear segment and must not split a
 * range.
 */
export const encryptPart = (plan: EncryptionPlan, cipher: CbcsCipher, part: Uint8Array, partStart: number): void => {
  const { ranges, isPattern } = plan;
  const partEnd = partStart + part.length;
  for (let index = 2 * rangeBehind(plan, partStart); index < ranges.length && ranges[index]! < partEnd; index += 2) {
    const range = part.subarray(ranges[index]! - partStart, ranges[index + 1]! - partStart);
    if (isPattern) cipher.encryptPattern(range);
    else cipher.encryptWhole(range);
  }
};
