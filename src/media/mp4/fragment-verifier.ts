import { KinoraError } from '../../lib/errors.js';
import { asFullBox, findBox, listBoxes, type Mp4Box, type Mp4FullBox, viewOf } from './box-reader.js';

/**
 * Checks produced segments before they are delivered. Depends on the file format and the plan, not
 * on the writer.
 */

export interface ExpectedFragment {
  /** Start of the segment: decode time of the first sample and the earliest presentation time. */
  readonly baseDecodeTicks: number;
  /** Length of the segment. */
  readonly durationTicks: number;
  readonly sampleCount?: number;
  readonly firstSync: boolean;
  /**
   * Added to the composition offsets so that none is negative. When absent, it is 0 and offsets may
   * be negative.
   */
  readonly reorderTicks?: number;
}

export interface ExpectedInit {
  readonly timescale: number;
  /** RFC 6381, as in the playlist. */
  readonly codecs: string;
  /** Video only. */
  readonly width?: number;
  readonly height?: number;
  /**
   * The start of the edit that compensates raised composition offsets. When absent, there must be
   * no edit list.
   */
  readonly reorderTicks?: number;
}

const reject = (reason: string): never => {
  throw new KinoraError('media_failed', { details: { stage: 'verify', reason } });
};

const need = <T>(value: T | undefined, reason: string): T => value ?? reject(reason);

const expectEqual = (name: string, actual: unknown, expected: unknown): void => {
  if (actual !== expected) reject(`${name} is ${actual}, expected ${expected}`);
};

/**
 * Checks one `styp` + `moof` + `mdat` against the plan.
 * @returns the number of samples
 * @throws KinoraError `media_failed` with `details.reason`
 */
export const verifyFragment = (bytes: Uint8Array, expected: ExpectedFragment): number => {
  const top = need(listBoxes(bytes), 'the boxes do not fill the file');
  expectEqual('the order of boxes', top.map(({ type }) => type).join(' '), 'styp moof mdat');
  const moof = top[1]!;
  const mdat = top[2]!;
  const inside = (path: string[]): Mp4FullBox =>
    need(asFullBox(bytes, findBox(bytes, path, moof.content, moof.end)), `${path.join('/')} is missing or not alone`);
  const view = viewOf(bytes);

  const tfhd = inside(['traf', 'tfhd']);
  expectEqual('tfhd flags', tfhd.flags, 0x020000);
  expectEqual('the length of tfhd', tfhd.end - tfhd.content, 4);
  const tfdt = inside(['traf', 'tfdt']);
  expectEqual('the version of tfdt', tfdt.version, 1);
  expectEqual('the length of tfdt', tfdt.end - tfdt.content, 8);
  expectEqual('the base decode time', Number(view.getBigUint64(tfdt.content)), expected.baseDecodeTicks);
  expectEqual('the length of mfhd', inside(['mfhd']).end - inside(['mfhd']).content, 4);

  const samples = readTrackRun(view, inside(['traf', 'trun']));
  if (samples.length === 0) reject('there is no sample');
  if (expected.sampleCount !== undefined) expectEqual('the number of samples', samples.length, expected.sampleCount);
  if (expected.firstSync && !samples[0]!.sync) reject('the first sample is not a sync sample');
  expectEqual('the data offset', samples.dataOffset, mdat.content - moof.start);

  const { reorderTicks = 0 } = expected;
  let dataBytes = 0;
  let decodeTicks = expected.baseDecodeTicks;
  const presentations = new Set<number>();
  let earliest = Number.POSITIVE_INFINITY;
  for (const { duration, size, compositionOffset } of samples) {
    if (size === 0) reject('a sample is empty');
    if (duration === 0) reject('a sample has no duration');
    if (reorderTicks > 0 && compositionOffset < 0) reject('a composition offset is negative');
    const presentation = decodeTicks + compositionOffset - reorderTicks;
    presentations.add(presentation);
    earliest = Math.min(earliest, presentation);
    if (presentation >= expected.baseDecodeTicks + expected.durationTicks) reject('a sample is shown after the end');
    dataBytes += size;
    decodeTicks += duration;
  }
  expectEqual('the number of presentation times', presentations.size, samples.length);
  expectEqual('the first presentation time', earliest, expected.baseDecodeTicks);
  expectEqual('the duration', decodeTicks - expected.baseDecodeTicks, expected.durationTicks);
  expectEqual('the size of the samples', dataBytes, mdat.end - mdat.content);
  return samples.length;
};

export interface RunSample {
  readonly duration: number;
  readonly size: number;
  readonly sync: boolean;
  readonly compositionOffset: number;
}

const TRUN_FLAGS = 0xf01;
const NON_SYNC = 0x0001_0000;

/** The samples of a run, as `writeFragment` writes it. */
export const readTrackRun = (view: DataView, trun: Mp4FullBox): RunSample[] & { dataOffset: number } => {
  expectEqual('the version of trun', trun.version, 1);
  expectEqual('trun flags', trun.flags, TRUN_FLAGS);
  if (trun.content + 8 > trun.end) reject('trun is too short');
  const count = view.getUint32(trun.content);
  expectEqual('the length of trun', trun.end - trun.content, 8 + count * 16);
  const samples = Array.from({ length: count }, (_, index) => {
    const offset = trun.content + 8 + index * 16;
    return {
      duration: view.getUint32(offset),
      size: view.getUint32(offset + 4),
      sync: (view.getUint32(offset + 8) & NON_SYNC) === 0,
      compositionOffset: view.getInt32(offset + 12),
    };
  });
  return Object.assign(samples, { dataOffset: view.getInt32(trun.content + 4) });
};

/**
 * Checks an init segment against the plan.
 * @throws KinoraError `media_failed` with `details.reason`
 */
export const verifyInit = (bytes: Uint8Array, expected: ExpectedInit): void => {
  const top = need(listBoxes(bytes), 'the boxes do not fill the file');
  expectEqual('the order of boxes', top.map(({ type }) => type).join(' '), 'ftyp moov');
  const box = (path: string[]): Mp4Box =>
    need(findBox(bytes, ['moov', ...path]), `${path.join('/')} is missing or not alone`);
  const media = ['trak', 'mdia'];
  const view = viewOf(bytes);
  const mdhd = box([...media, 'mdhd']);
  expectEqual('the length of mdhd', mdhd.end - mdhd.content, 24);
  expectEqual('the time scale', view.getUint32(mdhd.content + 12), expected.timescale);
  box(['mvex', 'trex']);
  const edits = findBox(bytes, ['moov', 'trak', 'edts', 'elst']);
  if (!expected.reorderTicks) {
    if (edits) reject('there is an edit list');
  } else {
    const list = need(edits, 'the edit list is missing');
    const fields = Array.from({ length: (list.end - list.content) / 4 }, (_, index) =>
      view.getUint32(list.content + 4 * index),
    );
    expectEqual('the edit list', fields.join(' '), [0, 1, 0, expected.reorderTicks, 0x10000].join(' '));
  }

  const stsd = box([...media, 'minf', 'stbl', 'stsd']);
  const entries = need(listBoxes(bytes, stsd.content + 8, stsd.end), 'stsd is damaged');
  expectEqual('the number of sample entries', entries.length, 1);
  const entry = entries[0]!;
  if (expected.width === undefined) {
    expectEqual('the codec', readAudioCodecs(bytes, entry), expected.codecs);
  } else {
    expectEqual('the codec', readVideoCodecs(bytes, entry), expected.codecs);
    expectEqual('the width', view.getUint16(entry.content + 24), expected.width);
    expectEqual('the height', view.getUint16(entry.content + 26), expected.height);
  }
};

/** The configuration record of a sample entry; it must have at least `least` bytes. */
const recordOf = (bytes: Uint8Array, entry: Mp4Box, type: string, least: number): Uint8Array => {
  const record = need(findBox(bytes, [type], entry.content + 78, entry.end), `${type} is missing`);
  if (record.content + least > record.end) reject(`${type} is too short`);
  return bytes.subarray(record.content, record.end);
};

/**
 * ISO/IEC 14496-15, annex E: profile, compatibility with the lowest bit first, tier and level,
 * constraints.
 */
const readHevcCodecs = (record: Uint8Array): string => {
  const flags = viewOf(record).getUint32(2).toString(2).padStart(32, '0');
  const compatibility = Number.parseInt([...flags].reverse().join(''), 2).toString(16);
  const constraints = Array.from(record.subarray(6, 12), (value) => value.toString(16)).join('.');
  const space = ['', 'A', 'B', 'C'][record[1]! >> 6]!;
  const tier = record[1]! & 0x20 ? 'H' : 'L';
  const level = `${space}${record[1]! & 31}.${compatibility}.${tier}${record[12]}`;
  return `hvc1.${`${level}.${constraints}`.replace(/(\.0)+$/, '').toUpperCase()}`;
};

/** AV1 Codec ISO Media File Format Binding, 5: profile, level, tier, bit depth. */
const readAv1Codecs = (record: Uint8Array): string => {
  const [, second, third] = record;
  const depth = third! & 0x40 ? (third! & 0x20 ? '12' : '10') : '08';
  return `av01.${second! >> 5}.${String(second! & 31).padStart(2, '0')}${third! & 0x80 ? 'H' : 'M'}.${depth}`;
};

const readVideoCodecs = (bytes: Uint8Array, entry: Mp4Box): string => {
  if (entry.type === 'hvc1') return readHevcCodecs(recordOf(bytes, entry, 'hvcC', 23));
  if (entry.type === 'av01') return readAv1Codecs(recordOf(bytes, entry, 'av1C', 4));
  return `${entry.type}.${Buffer.from(recordOf(bytes, entry, 'avcC', 7).subarray(1, 4)).toString('hex')}`;
};

/** Follows the descriptors of ISO/IEC 14496-1 inside `esds` down to the object types. */
const readAudioCodecs = (bytes: Uint8Array, entry: Mp4Box): string => {
  const esds = need(findBox(bytes, ['esds'], entry.content + 28, entry.end), 'esds is missing');
  const descriptor = (offset: number, tag: number): number => {
    expectEqual('a descriptor tag', bytes[offset], tag);
    let content = offset + 1;
    while ((bytes[content] ?? 0) & 0x80) content += 1;
    return content + 1;
  };
  const decoderConfig = descriptor(descriptor(esds.content + 4, 0x03) + 3, 0x04);
  const config = descriptor(decoderConfig + 13, 0x05);
  if (config >= esds.end) reject('esds is too short');
  return `${entry.type}.${bytes[decoderConfig]!.toString(16)}.${bytes[config]! >> 3}`;
};
