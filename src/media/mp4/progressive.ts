import assert from 'node:assert';
import { findBox, listBoxes, type Mp4Box, viewOf } from './box-reader.js';
import { ascii, box, concat, fullBox, IDENTITY_MATRIX, u16, u32, u64, zeros } from './box-writer.js';

/**
 * A file for download, made from the segments of renditions: `ftyp`, `moov` with every sample, then
 * the unchanged samples, alternating between a segment of video and a segment of audio. The index
 * comes first, so that players find it immediately. Only the sample tables are held in memory.
 */

/**
 * The samples of one segment in decode order. Columns instead of objects save memory: an asset can
 * have a million samples.
 */
export interface FragmentSamples {
  readonly durations: Uint32Array;
  readonly sizes: Uint32Array;
  readonly compositionOffsets: Int32Array;
  readonly sync: Uint8Array;
  /** Size of all samples together. */
  readonly dataBytes: number;
}

export interface ProgressiveTrack {
  /** The rendition's init segment. */
  readonly init: Uint8Array;
  /** Every segment, from the first to the last. */
  readonly fragments: readonly FragmentSamples[];
}

const NON_SYNC = 0x0001_0000;
/** Time scale of the whole file; divisible by the usual frame rates. */
const MOVIE_TIMESCALE = 90_000;
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
  const dataBytes = tracks.reduce((sum, { fragments }) => sum + sumOf(fragments, (fragment) => fragment.dataBytes), 0);
  const mdatHeader =
    dataBytes + 8 <= MAX_UINT32
      ? concat([u32(dataBytes + 8), ascii('mdat')])
      : concat([u32(1), ascii('mdat'), u64(dataBytes + 16)]);
  const parsed = tracks.map(readTrack);
  const brands = parsed.every(({ isAudio }) => isAudio)
    ? ['M4A ', 'M4A ', 'isom', 'iso2', 'mp41']
    : ['isom', 'isom', 'iso2', 'avc1', 'mp41'];
  const [major, ...compatible] = brands.map(ascii);
  const fileType = box('ftyp', major!, u32(512), ...compatible);
  // Offsets are always written with 64 bits, so the size of the index does not depend on them.
  const movieBytes = writeMovie(parsed, 0).length;
  const movie = writeMovie(parsed, fileType.length + movieBytes + mdatHeader.length);
  const durationSeconds = Math.max(...parsed.map(({ duration, timescale }) => duration / timescale));
  return { bytes: concat([fileType, movie, mdatHeader]), dataBytes, durationSeconds };
};

const sumOf = <T>(items: readonly T[], value: (item: T) => number): number =>
  items.reduce((sum, item) => sum + value(item), 0);

const writeMovie = (tracks: readonly ParsedTrack[], dataOffset: number): Uint8Array => {
  const offsets = chunkOffsets(tracks, dataOffset);
  const duration = Math.max(...tracks.map(({ movieDuration }) => movieDuration));
  const header = fullBox(
    'mvhd',
    1,
    0,
    u64(0),
    u64(0),
    u32(MOVIE_TIMESCALE),
    u64(duration),
    u32(0x10000),
    u16(0x0100),
    zeros(10),
    IDENTITY_MATRIX,
    zeros(24),
    u32(tracks.length + 1),
  );
  return box('moov', header, ...tracks.map((track, index) => writeTrack(track, index + 1, offsets[index]!)));
};

/** File offsets of each track's chunks. A chunk holds the samples of one segment. */
const chunkOffsets = (parsed: readonly ParsedTrack[], dataOffset: number): number[][] => {
  const tracks = parsed.map(({ track }) => track);
  const offsets: number[][] = tracks.map(() => []);
  const count = Math.max(...tracks.map(({ fragments }) => fragments.length));
  let at = dataOffset;
  for (let number = 0; number < count; number++) {
    tracks.forEach(({ fragments }, track) => {
      const fragment = fragments[number];
      if (!fragment) return;
      offsets[track]!.push(at);
      at += fragment.dataBytes;
    });
  }
  return offsets;
};

interface ParsedTrack {
  readonly track: ProgressiveTrack;
  readonly isAudio: boolean;
  readonly timescale: number;
  /** Ticks of the track. */
  readonly duration: number;
  readonly movieDuration: number;
  /**
   * Media time at which presentation begins: the amount added to composition offsets so that none
   * is negative.
   */
  readonly shift: number;
  /** All sample tables except the chunk offsets. */
  readonly tables: readonly Uint8Array[];
}

const readTrack = (track: ProgressiveTrack): ParsedTrack => {
  const mdhd = need(findBox(track.init, ['moov', 'trak', 'mdia', 'mdhd']), 'mdhd');
  const timescale = viewOf(track.init).getUint32(mdhd.content + 12);
  const duration = sumOf(track.fragments, ({ durations }) => durations.reduce((sum, ticks) => sum + ticks, 0));
  const elst = findBox(track.init, ['moov', 'trak', 'edts', 'elst']);
  /** Already added to the composition offsets of the segments. */
  const raised = elst ? viewOf(track.init).getUint32(elst.content + 12) : 0;
  let least = raised;
  for (const { compositionOffsets } of track.fragments)
    for (const offset of compositionOffsets) if (offset < least) least = offset;
  return {
    track,
    isAudio: findBox(track.init, ['moov', 'trak', 'mdia', 'minf', 'smhd']) !== undefined,
    timescale,
    duration,
    movieDuration: Math.round((duration * MOVIE_TIMESCALE) / timescale),
    shift: raised - least,
    tables: writeSampleTables(track.fragments, -least),
  };
};

const writeTrack = (parsed: ParsedTrack, id: number, offsets: readonly number[]): Uint8Array => {
  const { track, isAudio, timescale, duration, movieDuration, shift, tables } = parsed;
  const { init } = track;
  const part = (path: readonly string[]): Uint8Array =>
    bytesOfBox(init, need(findBox(init, ['moov', 'trak', ...path]), path.at(-1)!));
  const tkhd = need(findBox(init, ['moov', 'trak', 'tkhd']), 'tkhd');
  const header = fullBox(
    'tkhd',
    1,
    7,
    u64(0),
    u64(0),
    u32(id, 0),
    u64(movieDuration),
    zeros(8),
    u16(0),
    u16(isAudio ? 1 : 0),
    u16(isAudio ? 0x0100 : 0),
    u16(0),
    IDENTITY_MATRIX,
    init.subarray(tkhd.end - 8, tkhd.end),
  );
  const edit =
    shift > 0 ? [box('edts', fullBox('elst', 1, 0, u32(1), u64(movieDuration), u64(shift), u16(1), u16(0)))] : [];
  const media = box(
    'mdia',
    fullBox('mdhd', 1, 0, u64(0), u64(0), u32(timescale), u64(duration), u16(0x55c4), u16(0)), // language "und"
    part(['mdia', 'hdlr']),
    box(
      'minf',
      part(['mdia', 'minf', isAudio ? 'smhd' : 'vmhd']),
      part(['mdia', 'minf', 'dinf']),
      box('stbl', part(['mdia', 'minf', 'stbl', 'stsd']), ...tables, writeChunkOffsets(offsets)),
    ),
  );
  return box('trak', header, ...edit, media);
};

const bytesOfBox = (bytes: Uint8Array, { start, end }: Mp4Box): Uint8Array => bytes.subarray(start, end);

const writeSampleTables = (fragments: readonly FragmentSamples[], shift: number): Uint8Array[] => {
  const durations = new RunLengths();
  const compositions = new RunLengths();
  const syncs = new Table();
  const sizes = new Table();
  const chunks = new Table();
  let samples = 0;
  let perChunk = 0;
  fragments.forEach((fragment, number) => {
    for (let sample = 0; sample < fragment.sizes.length; sample++) {
      samples += 1;
      durations.add(fragment.durations[sample]!);
      compositions.add(fragment.compositionOffsets[sample]! + shift);
      sizes.add(fragment.sizes[sample]!);
      if (fragment.sync[sample]) syncs.add(samples);
    }
    if (fragment.sizes.length !== perChunk) {
      perChunk = fragment.sizes.length;
      for (const value of [number + 1, perChunk, 1]) chunks.add(value);
    }
  });
  return [
    durations.write('stts'),
    ...(compositions.isZero ? [] : [compositions.write('ctts')]),
    ...(syncs.length === samples ? [] : [syncs.write('stss', u32(syncs.length))]),
    chunks.write('stsc', u32(chunks.length / 3)),
    sizes.write('stsz', u32(0, samples)),
  ];
};

const writeChunkOffsets = (offsets: readonly number[]): Uint8Array => {
  const table = new Table();
  for (const offset of offsets) {
    table.add(Math.floor(offset / 0x1_0000_0000));
    table.add(offset % 0x1_0000_0000);
  }
  return table.write('co64', u32(offsets.length));
};

/** A column of 32-bit numbers that grows. */
class Table {
  private values = new Uint32Array(1024);
  length = 0;

  add(value: number): void {
    if (this.length === this.values.length) {
      const larger = new Uint32Array(this.values.length * 2);
      larger.set(this.values);
      this.values = larger;
    }
    this.values[this.length] = value;
    this.length += 1;
  }

  addToLast(index: number, value: number): void {
    this.values[this.length - index]! += value;
  }

  write(type: string, head: Uint8Array): Uint8Array {
    const view = new DataView(new ArrayBuffer(this.length * 4));
    for (let index = 0; index < this.length; index++) view.setUint32(index * 4, this.values[index]!);
    return fullBox(type, 0, 0, head, new Uint8Array(view.buffer));
  }
}

/** Pairs of count and value, as in `stts` and `ctts`. */
class RunLengths {
  private readonly table = new Table();
  private last: number | undefined;
  isZero = true;

  add(value: number): void {
    if (value === this.last) {
      this.table.addToLast(2, 1);
      return;
    }
    this.last = value;
    if (value !== 0) this.isZero = false;
    this.table.add(1);
    this.table.add(value);
  }

  write(type: string): Uint8Array {
    return this.table.write(type, u32(this.table.length / 2));
  }
}
