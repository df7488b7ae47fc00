import assert from 'node:assert';
import { findBox, listBoxes, type Mp4Box, viewOf } from './box-reader.js';
import { ascii, box, concat, u32, u64 } from './box-writer.js';
import { type MovieTrack, writeMovie } from './movie-writer.js';
import { type FragmentSamples, SampleTables } from './sample-table-writer.js';

/**
 * A file for download, made from the segments of renditions: `ftyp`, `moov` with every sample, then
 * the unchanged samples, alternating between a segment of video and a segment of audio. The index
 * comes first, so that players find it immediately. Only the sample tables are held in memory.
 */

export interface ProgressiveTrack {
  /** The rendition's init segment. */
  readonly init: Uint8Array;
  /** Every segment, from the first to the last. */
  readonly fragments: readonly FragmentSamples[];
}

const NON_SYNC = 0x0001_0000;
const MAX_UINT32 = 0xffff_ffff;

const need = <T>(value: T | undefined, name: string): T => {
  assert(value !== undefined, `${name} is missing`);
  return value;
};

/**
 * The two parts of a segment that `verifyFragment` has passed: its index, a `moof`, and its
 * samples.
 */
export const splitFragment = (bytes: Uint8Array): { readonly index: Uint8Array; readonly samples: Uint8Array } => {
  const moof = need(findBox(bytes, ['moof']), 'moof');
  const mdat = need(findBox(bytes, ['mdat']), 'mdat');
  return { index: bytesOfBox(bytes, moof), samples: bytes.subarray(mdat.content, mdat.end) };
};

/** Reads the indexes of segments, as returned by `splitFragment` and concatenated. */
export const readFragmentIndexes = (bytes: Uint8Array): FragmentSamples[] =>
  need(listBoxes(bytes), 'a whole index').map((moof) => readFragmentIndex(bytes, moof));

const readFragmentIndex = (bytes: Uint8Array, moof: Mp4Box): FragmentSamples => {
  const view = viewOf(bytes);
  const trun = need(findBox(bytes, ['traf', 'trun'], moof.content, moof.end), 'trun');
  const count = view.getUint32(trun.content + 4);
  const column = (offset: number) => (_: unknown, sample: number) =>
    view.getUint32(trun.content + 12 + sample * 16 + offset);
  const all = { length: count };
  const sizes = Uint32Array.from(all, column(4));
  return {
    durations: Uint32Array.from(all, column(0)),
    sizes,
    sync: Uint8Array.from(all, (_, sample) => ((column(8)(_, sample) & NON_SYNC) === 0 ? 1 : 0)),
    compositionOffsets: Int32Array.from(all, column(12)),
    dataBytes: sizes.reduce((sum, size) => sum + size, 0),
  };
};

export interface ProgressiveHeader {
  readonly bytes: Uint8Array;
  /** Size of the samples that follow. */
  readonly dataBytes: number;
  readonly durationSeconds: number;
}

/**
 * Everything before the samples. They follow as fragment 0 of each track in the given order, then
 * fragment 1 of each, …
 */
export const writeProgressiveHeader = (tracks: readonly ProgressiveTrack[]): ProgressiveHeader => {
  const tables = tracks.map(() => new SampleTables());
  const dataBytes = addChunks(tracks, tables);
  const mdatHeader =
    dataBytes + 8 <= MAX_UINT32
      ? concat([u32(dataBytes + 8), ascii('mdat')])
      : concat([u32(1), ascii('mdat'), u64(dataBytes + 16)]);
  const isAudio = tracks.every(({ init }) => findBox(init, ['moov', 'trak', 'mdia', 'minf', 'smhd']));
  const brands = isAudio ? ['M4A ', 'M4A ', 'isom', 'iso2', 'mp41'] : ['isom', 'isom', 'iso2', 'avc1', 'mp41'];
  const [major, ...compatible] = brands.map(ascii);
  const fileType = box('ftyp', major!, u32(512), ...compatible);
  const movieTracks = tracks.map(({ init }, index): MovieTrack => ({ inits: [init], tables: tables[index]! }));
  const movieBytes = writeMovie(movieTracks, { dataOffset: 0 }).bytes.length;
  const dataOffset = fileType.length + movieBytes + mdatHeader.length;
  const { bytes: movie, durationSeconds } = writeMovie(movieTracks, { dataOffset });
  return { bytes: concat([fileType, movie, mdatHeader]), dataBytes, durationSeconds };
};

/** A chunk holds the samples of one segment. Returns their size. */
const addChunks = (tracks: readonly ProgressiveTrack[], tables: readonly SampleTables[]): number => {
  const count = Math.max(...tracks.map(({ fragments }) => fragments.length));
  const reorderTicks = tracks.map(({ init }) => readReorderTicks(init));
  let position = 0;
  for (let number = 0; number < count; number++) {
    tracks.forEach(({ fragments }, track) => {
      const fragment = fragments[number];
      if (!fragment) return;
      tables[track]!.add(fragment, { position, reorderTicks: reorderTicks[track]! });
      position += fragment.dataBytes;
    });
  }
  return position;
};

/** `VideoInit.reorderTicks`, which the edit list states. */
const readReorderTicks = (init: Uint8Array): number => {
  const elst = findBox(init, ['moov', 'trak', 'edts', 'elst']);
  return elst ? viewOf(init).getUint32(elst.content + 12) : 0;
};

const bytesOfBox = (bytes: Uint8Array, { start, end }: Mp4Box): Uint8Array => bytes.subarray(start, end);
