import assert from 'node:assert';
import { findBox, type Mp4Box, viewOf } from './box-reader.js';
import { box, concat, fullBox, IDENTITY_MATRIX, u16, u32, u64, zeros } from './box-writer.js';
import type { SampleTables } from './sample-table-writer.js';

/** Time scale of the whole file; divisible by the usual frame rates. */
const MOVIE_TIMESCALE = 90_000;
/** Seconds from 1904, where times of ISO/IEC 14496-12 begin, to 1970. */
const EPOCH_SECONDS = 2_082_844_800;

export interface MovieTrack {
  /** Init segments, a sample description each. Everything else is that of the first. */
  readonly inits: readonly [Uint8Array, ...Uint8Array[]];
  readonly tables: SampleTables;
  /** When the first sample is presented, in ticks of the track; 0 when absent. */
  readonly startTicks?: number;
}

export interface MovieOptions {
  /** Added to the positions of all chunks. */
  readonly dataOffset: number;
  /** Seconds since 1970. */
  readonly createdSeconds?: number;
}

export interface Movie {
  /** A `moov` box; its size does not depend on `dataOffset`. */
  readonly bytes: Uint8Array;
  readonly durationSeconds: number;
}

const need = <T>(value: T | undefined, name: string): T => {
  assert(value !== undefined, `${name} is missing`);
  return value;
};
const bytesOfBox = (bytes: Uint8Array, { start, end }: Mp4Box): Uint8Array => bytes.subarray(start, end);

/** The `moov` of a file that is not fragmented: tracks with every sample. */
export const writeMovie = (tracks: readonly MovieTrack[], options: MovieOptions): Movie => {
  const timed = tracks.map(timeTrack);
  const duration = Math.max(...timed.map(({ delay, movieDuration }) => delay + movieDuration));
  const created = options.createdSeconds === undefined ? 0 : Math.floor(options.createdSeconds) + EPOCH_SECONDS;
  const header = fullBox(
    'mvhd',
    1,
    0,
    u64(created),
    u64(created),
    u32(MOVIE_TIMESCALE),
    u64(duration),
    u32(0x10000),
    u16(0x0100),
    zeros(10),
    IDENTITY_MATRIX,
    zeros(24),
    u32(tracks.length + 1),
  );
  const bytes = box('moov', header, ...timed.map((track, index) => writeTrack(track, index + 1, options.dataOffset)));
  return { bytes, durationSeconds: Math.max(...timed.map(({ endSeconds }) => endSeconds)) };
};

interface TimedTrack {
  readonly track: MovieTrack;
  readonly timescale: number;
  readonly movieDuration: number;
  /** Of the first sample, in ticks of the movie. */
  readonly delay: number;
  readonly endSeconds: number;
}

const timeTrack = (track: MovieTrack): TimedTrack => {
  const [init] = track.inits;
  const mdhd = need(findBox(init, ['moov', 'trak', 'mdia', 'mdhd']), 'mdhd');
  const timescale = viewOf(init).getUint32(mdhd.content + 12);
  const toMovie = (ticks: number): number => Math.round((ticks * MOVIE_TIMESCALE) / timescale);
  const { startTicks = 0, tables } = track;
  return {
    track,
    timescale,
    movieDuration: toMovie(tables.durationTicks),
    delay: toMovie(startTicks),
    endSeconds: (startTicks + tables.durationTicks) / timescale,
  };
};

const writeTrack = ({ track, timescale, movieDuration, delay }: TimedTrack, id: number, dataOffset: number) => {
  const { inits, tables } = track;
  const [init] = inits;
  const part = (path: readonly string[]): Uint8Array =>
    bytesOfBox(init, need(findBox(init, ['moov', 'trak', ...path]), path.at(-1)!));
  const isAudio = findBox(init, ['moov', 'trak', 'mdia', 'minf', 'smhd']) !== undefined;
  const tkhd = need(findBox(init, ['moov', 'trak', 'tkhd']), 'tkhd');
  const header = fullBox(
    'tkhd',
    1,
    7,
    u64(0),
    u64(0),
    u32(id, 0),
    u64(delay + movieDuration),
    zeros(8),
    u16(0),
    u16(isAudio ? 1 : 0),
    u16(isAudio ? 0x0100 : 0),
    u16(0),
    IDENTITY_MATRIX,
    init.subarray(tkhd.end - 8, tkhd.end),
  );
  const media = box(
    'mdia',
    // language "und"
    fullBox('mdhd', 1, 0, u64(0), u64(0), u32(timescale), u64(tables.durationTicks), u16(0x55c4), u16(0)),
    part(['mdia', 'hdlr']),
    box(
      'minf',
      part(['mdia', 'minf', isAudio ? 'smhd' : 'vmhd']),
      part(['mdia', 'minf', 'dinf']),
      box('stbl', writeDescriptions(inits), ...tables.write(dataOffset)),
    ),
  );
  return box('trak', header, ...writeEdits(delay, movieDuration, tables.shiftTicks), media);
};

const writeEdits = (delay: number, movieDuration: number, shift: number): Uint8Array[] => {
  if (delay === 0 && shift === 0) return [];
  const normalSpeed = concat([u16(1), u16(0)]);
  const empty = [u64(delay), u32(0xffff_ffff, 0xffff_ffff), normalSpeed];
  const edits = [...(delay > 0 ? empty : []), u64(movieDuration), u64(shift), normalSpeed];
  return [box('edts', fullBox('elst', 1, 0, u32(delay > 0 ? 2 : 1), ...edits))];
};

const writeDescriptions = (inits: readonly Uint8Array[]): Uint8Array => {
  const entries = inits.map((init) => {
    const stsd = need(findBox(init, ['moov', 'trak', 'mdia', 'minf', 'stbl', 'stsd']), 'stsd');
    return init.subarray(stsd.content + 8, stsd.end);
  });
  return fullBox('stsd', 0, 0, u32(entries.length), ...entries);
};
