import { asFullBox, findBox, listBoxes, viewOf } from '../mp4-box-reader.js';
import { concat, fullBox, u16, u32 } from '../mp4-box-writer.js';
import { AvcParameterSets } from './avc-slice-header.js';
import { BLOCK_BYTES, type CbcsKey, encryptPattern, encryptWhole, type Subsample } from './cbcs.js';

/** Sizes of NAL units have 4 bytes in everything that Kinora writes. */
const LENGTH_BYTES = 4;
/** Of a count of clear bytes in `senc`. */
const MAX_CLEAR_BYTES = 0xffff;

const isSlice = (type: number): boolean => type === 1 || type === 5;

/**
 * What of a sample is encrypted: the data of slices. NAL sizes and headers, slice headers and all other units stay clear, and so
 * do ranges that have no whole block.
 * @throws Error when the units do not fill the sample, or a slice header can't be read
 */
export const planSubsamples = (sample: Uint8Array, sets: AvcParameterSets): Subsample[] => {
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
    if (protectedBytes < BLOCK_BYTES) clearBytes += LENGTH_BYTES + size;
    else {
      clearBytes += LENGTH_BYTES + headerBytes;
      push(protectedBytes);
    }
  }
  push(0);
  return subsamples;
};

/** Encrypts the sample in place. */
const encryptSubsamples = (key: CbcsKey, sample: Uint8Array, subsamples: readonly Subsample[]): void => {
  let offset = 0;
  for (const { clearBytes, protectedBytes } of subsamples) {
    offset += clearBytes + protectedBytes;
    if (protectedBytes > 0) encryptPattern(key, sample.subarray(offset - protectedBytes, offset));
  }
};

/** `saiz`, `saio` and `senc` of the samples (ISO/IEC 23001-7, 7.2). `sencStart` is its offset from the start of `moof`. */
const encryptionBoxes = (samples: readonly (readonly Subsample[])[], saioStart: number): Uint8Array[] => {
  const entries = samples.map((subsamples) =>
    concat([
      u16(subsamples.length),
      ...subsamples.map(({ clearBytes, protectedBytes }) => concat([u16(clearBytes), u32(protectedBytes)])),
    ]),
  );
  if (entries.some(({ length }) => length > 255)) throw new Error('a sample has too many slices to be encrypted');
  const sizes = fullBox(
    'saiz',
    0,
    0,
    Uint8Array.of(0),
    u32(samples.length),
    Uint8Array.from(entries, (e) => e.length),
  );
  // Version 0 of saio has one 32-bit offset, of the first entry behind the header of senc.
  const saioBytes = 20;
  const sencContent = saioStart + sizes.length + saioBytes + 16;
  return [sizes, fullBox('saio', 0, 0, u32(1, sencContent)), fullBox('senc', 0, 2, u32(samples.length), ...entries)];
};

export interface SegmentEncryption extends CbcsKey {
  /** SPS and PPS of the init segment; empty for audio, of which all samples are encrypted whole. */
  readonly parameterSets: readonly Uint8Array[];
}

/**
 * A fragment of one track with its samples encrypted by scheme `cbcs`; everything else of it is as it was.
 * @throws Error when it is not a fragment that Kinora writes
 */
export const encryptSegment = (segment: Uint8Array, { parameterSets, ...key }: SegmentEncryption): Uint8Array => {
  const boxes = listBoxes(segment) ?? [];
  const moof = boxes.find(({ type }) => type === 'moof');
  const mdat = boxes.find(({ type }) => type === 'mdat');
  const traf = moof && findBox(segment, ['traf'], moof.content, moof.end);
  const run = traf && asFullBox(segment, findBox(segment, ['trun'], traf.content, traf.end));
  if (!moof || !mdat || !traf || run?.flags !== 0xf01) throw new Error('not a fragment of one track');

  const view = viewOf(segment);
  const data = Uint8Array.from(segment.subarray(mdat.content, mdat.end));
  const sets = new AvcParameterSets();
  for (const unit of parameterSets) sets.add(unit);
  const isVideo = parameterSets.length > 0;
  const planned: Subsample[][] = [];
  let offset = moof.start + view.getInt32(run.content + 4) - mdat.content;
  for (let index = 0; index < view.getUint32(run.content); index++) {
    const size = view.getUint32(run.content + 8 + 16 * index + 4);
    const sample = data.subarray(offset, offset + size);
    offset += size;
    if (sample.length !== size) throw new Error('a sample lies outside of its fragment');
    if (isVideo) {
      const subsamples = planSubsamples(sample, sets);
      planned.push(subsamples);
      encryptSubsamples(key, sample, subsamples);
    } else encryptWhole(key, sample);
  }
  if (!isVideo) return concat([segment.subarray(0, mdat.content), data, segment.subarray(mdat.end)]);

  const added = encryptionBoxes(planned, moof.end - moof.start);
  const addedBytes = added.reduce((sum, { length }) => sum + length, 0);
  const header = Uint8Array.from(segment.subarray(moof.start, traf.end));
  const headerView = viewOf(header);
  headerView.setUint32(0, moof.end - moof.start + addedBytes);
  headerView.setUint32(traf.start - moof.start, traf.end - traf.start + addedBytes);
  const dataOffset = run.content - moof.start + 4;
  headerView.setInt32(dataOffset, headerView.getInt32(dataOffset) + addedBytes);
  return concat([
    segment.subarray(0, moof.start),
    header,
    ...added,
    segment.subarray(moof.end, mdat.content),
    data,
    segment.subarray(mdat.end),
  ]);
};
