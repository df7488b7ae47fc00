import type { ByteRange } from '../../lib/byte-ranges.js';
import type { SourceIndex, StreamIndex } from '../source/source-index.js';
import { asFullBox, findBox, listBoxes, type Mp4Box, readBoxHeader, viewOf } from './box-reader.js';
import { applyEditList, type Edit, type SampleTimes } from './edit-list.js';

/**
 * The index of an MP4 or MOV file from its sample tables alone (ISO/IEC 14496-12, 8.6 and 8.7):
 * this takes milliseconds and does not read the whole file. Times equal those of FFmpeg's demuxer.
 * For damaged, fragmented or unusual files the result is undefined, and the file is demuxed
 * instead.
 */

/** More than 12 hours at 240 frames a second. A larger count is damaged or hostile. */
const MAX_SAMPLES = 12_000_000;
const MAX_MOOV_BYTES = 256 * 1024 * 1024;
const MAX_TOP_LEVEL_BOXES = 4096;
const MAX_EDITS = 100_000;

export type ReadRange = (offset: number, length: number) => Promise<Uint8Array>;

/**
 * The `moov` box of a file of `sizeBytes` bytes; undefined when the top level of the file has none.
 */
export const findMoov = async (read: ReadRange, sizeBytes: number): Promise<Uint8Array | undefined> => {
  const range = await findMoovRange(read, sizeBytes);
  return range && range.end - range.start <= MAX_MOOV_BYTES ? read(range.start, range.end - range.start) : undefined;
};

/**
 * The position of the `moov` box in a file of `sizeBytes` bytes. Reads only the headers of the
 * boxes before it.
 */
export const findMoovRange = async (read: ReadRange, sizeBytes: number): Promise<ByteRange | undefined> => {
  let offset = 0;
  for (let count = 0; count < MAX_TOP_LEVEL_BOXES && offset + 8 <= sizeBytes; count += 1) {
    const header = await read(offset, Math.min(16, sizeBytes - offset));
    const box = readBoxHeader(viewOf(header), 0, sizeBytes - offset);
    if (!box) return undefined;
    if (box.type === 'moov') return { start: offset, end: offset + box.end };
    offset += box.end;
  }
  return undefined;
};

export interface Mp4Streams {
  /** FFmpeg's stream numbers: tracks in file order. */
  readonly videoStreamIndex?: number;
  readonly audioStreamIndex?: number;
}

interface FirstTrack {
  /** FFmpeg's stream number. */
  readonly streamIndex: number;
  readonly timescale: number;
}

/** The first track with video and the first one with audio of a complete `moov` box. */
export const findFirstTracks = (moov: Uint8Array): { readonly video?: FirstTrack; readonly audio?: FirstTrack } => {
  const root = listBoxes(moov)?.[0];
  const tracks = (root && listBoxes(moov, root.content, root.end))?.filter(({ type }) => type === 'trak') ?? [];
  const first = (handler: 'vide' | 'soun'): FirstTrack | undefined => {
    const streamIndex = tracks.findIndex((track) => isHandledBy(moov, track, handler));
    const track = tracks[streamIndex];
    const timescale = track && readTimescale(moov, findBox(moov, ['mdia', 'mdhd'], track.content, track.end));
    return timescale ? { streamIndex, timescale } : undefined;
  };
  const [video, audio] = [first('vide'), first('soun')];
  return { ...(video && { video }), ...(audio && { audio }) };
};

const isHandledBy = (moov: Uint8Array, track: Mp4Box, handler: 'vide' | 'soun'): boolean => {
  const hdlr = asFullBox(moov, findBox(moov, ['mdia', 'hdlr'], track.content, track.end));
  if (!hdlr || hdlr.content + 8 > hdlr.end) return false;
  return Buffer.from(moov.subarray(hdlr.content + 4, hdlr.content + 8)).toString('latin1') === handler;
};

/** The index of the selected streams, read from a complete `moov` box. */
export const readMp4SampleTables = (moov: Uint8Array, streams: Mp4Streams): SourceIndex | undefined => {
  const root = listBoxes(moov)?.[0];
  const children = root?.type === 'moov' ? listBoxes(moov, root.content, root.end) : undefined;
  if (!children || children.some(({ type }) => type === 'mvex')) return undefined;
  const movieTimescale = readTimescale(
    moov,
    children.find(({ type }) => type === 'mvhd'),
  );
  if (!movieTimescale) return undefined;
  const tracks = children.filter(({ type }) => type === 'trak');
  const stream = (index: number | undefined, handler: 'vide' | 'soun'): StreamIndex | undefined => {
    const track = index === undefined ? undefined : tracks[index];
    return track && readTrack(moov, track, handler, movieTimescale);
  };
  const video = stream(streams.videoStreamIndex, 'vide');
  const audio = stream(streams.audioStreamIndex, 'soun');
  if (streams.videoStreamIndex !== undefined && !video) return undefined;
  if (streams.audioStreamIndex !== undefined && !audio) return undefined;
  return { ...(video && { video }), ...(audio && { audio }), discontinuous: false };
};

/** `mvhd` and `mdhd` begin with the same fields. */
const readTimescale = (bytes: Uint8Array, box: Mp4Box | undefined): number | undefined => {
  const header = asFullBox(bytes, box);
  const offset = header && header.content + (header.version === 1 ? 16 : 8);
  return offset !== undefined && offset + 4 <= header!.end ? viewOf(bytes).getUint32(offset) : undefined;
};

// A view of bytes without state of its own.
/**
 * A row count followed by a table of fixed-size rows; undefined when the box is too short for it.
 */
interface Table {
  readonly count: number;
  /** Word `column` of row `row`. */
  u32(row: number, column?: number): number;
  i32(row: number, column?: number): number;
  readonly version: number;
  readonly content: number;
}

const readTable = (bytes: Uint8Array, box: Mp4Box | undefined, rowBytes: number): Table | undefined => {
  const header = asFullBox(bytes, box);
  if (!header || header.content + 4 > header.end) return undefined;
  const view = viewOf(bytes);
  const count = view.getUint32(header.content);
  const content = header.content + 4;
  if (content + count * rowBytes > header.end) return undefined;
  const at = (row: number, column: number): number => content + row * rowBytes + column * 4;
  return {
    count,
    u32: (row, column = 0) => view.getUint32(at(row, column)),
    i32: (row, column = 0) => view.getInt32(at(row, column)),
    version: header.version,
    content,
  };
};

const readTrack = (
  moov: Uint8Array,
  track: Mp4Box,
  handler: 'vide' | 'soun',
  movieTimescale: number,
): StreamIndex | undefined => {
  const below = (...path: string[]): Mp4Box | undefined => findBox(moov, path, track.content, track.end);
  const timescale = readTimescale(moov, below('mdia', 'mdhd'));
  const stbl = below('mdia', 'minf', 'stbl');
  if (!timescale || !stbl || !isHandledBy(moov, track, handler)) return undefined;
  const table = (type: string): Mp4Box | undefined => findBox(moov, [type], stbl.content, stbl.end);
  // Several descriptions: the coding parameters change within the track.
  if (readTable(moov, table('stsd'), 8)?.count !== 1) return undefined;

  const elst = below('edts', 'elst');
  // Only iTunes states the priming in a tag. FFmpeg skips it by samples if there is no edit list.
  if (handler === 'soun' && !elst && Buffer.from(moov.buffer, moov.byteOffset, moov.length).includes('iTunSMPB'))
    return undefined;
  const edits = readEdits(moov, elst, movieTimescale, timescale);
  const stts = readTable(moov, table('stts'), 8);
  if (!edits || !stts) return undefined;
  const chunks = readChunks(moov, table);
  // Uncompressed audio: each sample of the table is one PCM sample, and a packet is a chunk or a
  // part of one.
  if (handler === 'soun' && stts.count === 1 && stts.u32(0, 1) === 1)
    return chunks && readPcmTrack(moov, table, chunks, edits, timescale);

  const sizes = readSizes(moov, table);
  const times = sizes && readTimes(moov, stts, table, sizes.length);
  const position = sizes && chunks && positionSamples(chunks, sizes);
  const key = sizes && readKeys(moov, table, sizes.length);
  if (!sizes || !times || !position || !key || sizes.length === 0) return undefined;
  const edited = applyEditList(times, edits, handler, timescale);
  if (!edited) return undefined;
  const { count, pts, lastDuration } = edited;
  return {
    pts,
    key: key.subarray(0, count),
    size: sizes.subarray(0, count),
    position: position.subarray(0, count),
    lastDuration,
  };
};

const readEdits = (
  moov: Uint8Array,
  elst: Mp4Box | undefined,
  movieTimescale: number,
  timescale: number,
): Edit[] | undefined => {
  if (!elst) return [];
  const version = asFullBox(moov, elst)?.version;
  const wide = version === 1;
  const table = readTable(moov, elst, wide ? 20 : 12);
  if (!table || table.count > MAX_EDITS || version === undefined || version > 1) return undefined;
  return Array.from({ length: table.count }, (_, row) => {
    const duration = wide ? table.u32(row, 0) * 0x1_0000_0000 + table.u32(row, 1) : table.u32(row, 0);
    return {
      durationTicks: Math.round((duration * timescale) / movieTimescale),
      mediaTime: wide ? table.i32(row, 2) * 0x1_0000_0000 + table.u32(row, 3) : table.i32(row, 1),
      rate: table.u32(row, wide ? 4 : 2) / 0x10000,
    };
  });
};

type FindTable = (type: string) => Mp4Box | undefined;

const readSizes = (moov: Uint8Array, table: FindTable): Uint32Array | undefined => {
  const stsz = asFullBox(moov, table('stsz'));
  const stz2 = asFullBox(moov, table('stz2'));
  const box = stsz ?? stz2;
  if (!box || box.content + 8 > box.end) return undefined;
  const view = viewOf(moov);
  const count = view.getUint32(box.content + 4);
  if (count > MAX_SAMPLES) return undefined;
  const entries = box.content + 8;
  const fixed = stsz ? view.getUint32(box.content) : 0;
  if (fixed !== 0) return new Uint32Array(count).fill(fixed);
  const bits = stsz ? 32 : view.getUint32(box.content) & 0xff;
  if (entries + Math.ceil((count * bits) / 8) > box.end) return undefined;
  const readers: Readonly<Record<number, (row: number) => number>> = {
    4: (row) => (view.getUint8(entries + (row >> 1)) >> (row % 2 === 0 ? 4 : 0)) & 0x0f,
    8: (row) => view.getUint8(entries + row),
    16: (row) => view.getUint16(entries + row * 2),
    32: (row) => view.getUint32(entries + row * 4),
  };
  const read = readers[bits];
  if (!read) return undefined;
  const sizes = new Uint32Array(count);
  for (let row = 0; row < count; row += 1) sizes[row] = read(row);
  return sizes;
};

/**
 * Decode times from `stts` and composition times from `ctts`, which must both describe exactly
 * `count` samples.
 */
const readTimes = (moov: Uint8Array, stts: Table, table: FindTable, count: number): SampleTimes | undefined => {
  const composition = new Float64Array(count);
  const duration = new Float64Array(count);
  let sample = 0;
  let ticks = 0;
  for (let row = 0; row < stts.count; row += 1) {
    const delta = stts.u32(row, 1);
    // FFmpeg repairs such tables in its own way.
    if (delta > 0x7fff_ffff || sample + stts.u32(row) > count) return undefined;
    for (const end = sample + stts.u32(row); sample < end; sample += 1) {
      duration[sample] = delta;
      composition[sample] = ticks;
      ticks += delta;
    }
  }
  if (sample !== count) return undefined;
  const box = table('ctts');
  if (!box) return { composition, duration };
  const ctts = readTable(moov, box, 8);
  if (!ctts) return undefined;
  sample = 0;
  for (let row = 0; row < ctts.count; row += 1) {
    // Signed in version 1; writers of QuickTime files put signed values into version 0 as well.
    const offset = ctts.i32(row, 1);
    for (const end = Math.min(sample + ctts.u32(row), count); sample < end; sample += 1) composition[sample]! += offset;
  }
  return { composition, duration };
};

const readKeys = (moov: Uint8Array, table: FindTable, count: number): Uint8Array | undefined => {
  const box = table('stss');
  if (!box) return new Uint8Array(count).fill(1);
  const key = new Uint8Array(count);
  // `stps` lists the partial sync samples of QuickTime, which FFmpeg also treats as key frames.
  for (const list of [box, table('stps')]) {
    const rows = list && readTable(moov, list, 4);
    if (list && !rows) return undefined;
    for (let row = 0; row < (rows?.count ?? 0); row += 1) {
      const sample = rows!.u32(row);
      if (sample >= 1 && sample <= count) key[sample - 1] = 1;
    }
  }
  return key.includes(1) ? key : undefined;
};

/** Columns instead of an object for each chunk: two hours have half a million. */
interface Chunks {
  readonly offset: Float64Array;
  readonly samples: Uint32Array;
}

const readChunks = (moov: Uint8Array, table: FindTable): Chunks | undefined => {
  const stsc = readTable(moov, table('stsc'), 12);
  const stco = readTable(moov, table('stco'), 4);
  const co64 = readTable(moov, table('co64'), 8);
  const offsets = stco ?? co64;
  if (!stsc || !offsets || offsets.count > MAX_SAMPLES) return undefined;
  const offset = new Float64Array(offsets.count);
  const samples = new Uint32Array(offsets.count);
  let count = 0;
  for (let row = 0; row < stsc.count; row += 1) {
    const first = stsc.u32(row) - 1;
    const end = row + 1 < stsc.count ? stsc.u32(row + 1) - 1 : offsets.count;
    if (first !== count || end < first || end > offsets.count) return undefined;
    samples.fill(stsc.u32(row, 1), first, end);
    count = end;
  }
  for (let chunk = 0; chunk < count; chunk += 1)
    offset[chunk] = stco ? stco.u32(chunk) : co64!.u32(chunk, 0) * 0x1_0000_0000 + co64!.u32(chunk, 1);
  return { offset: offset.subarray(0, count), samples: samples.subarray(0, count) };
};

const positionSamples = ({ offset, samples }: Chunks, sizes: Uint32Array): Float64Array | undefined => {
  const position = new Float64Array(sizes.length);
  let sample = 0;
  for (let chunk = 0; chunk < offset.length; chunk += 1) {
    let offsetOfSample = offset[chunk]!;
    for (const end = Math.min(sample + samples[chunk]!, sizes.length); sample < end; sample += 1) {
      position[sample] = offsetOfSample;
      offsetOfSample += sizes[sample]!;
    }
  }
  return sample === sizes.length ? position : undefined;
};

/** One entry per chunk. FFmpeg returns the same audio in smaller packets. */
const readPcmTrack = (
  moov: Uint8Array,
  table: FindTable,
  chunks: Chunks,
  edits: readonly Edit[],
  timescale: number,
): StreamIndex | undefined => {
  const stsz = asFullBox(moov, table('stsz'));
  if (!stsz || stsz.content + 8 > stsz.end || chunks.offset.length === 0) return undefined;
  const sampleBytes = viewOf(moov).getUint32(stsz.content);
  const composition = new Float64Array(chunks.offset.length);
  let total = 0;
  chunks.samples.forEach((samples, chunk) => {
    composition[chunk] = total;
    total += samples;
  });
  const duration = Float64Array.from(chunks.samples);
  const edited = applyEditList({ composition, duration }, edits, 'soun', timescale);
  if (!edited) return undefined;
  return {
    pts: edited.pts,
    key: new Uint8Array(edited.count).fill(1),
    size: chunks.samples.slice(0, edited.count).map((samples) => samples * sampleBytes),
    position: chunks.offset.slice(0, edited.count),
    lastDuration: edited.lastDuration,
  };
};
