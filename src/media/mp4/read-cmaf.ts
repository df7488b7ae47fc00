import { KinoraError } from '../../lib/errors.js';
import { asFullBox, findBox, type Mp4Box, viewOf } from './box-reader.js';
import { readTrackRun } from './fragment-verifier.js';

/** Reads back what `cmaf.ts` writes. All functions throw KinoraError `media_failed`. */

/** A sample of a track and where its bytes are. */
export interface ReadSample {
  readonly decodeTicks: number;
  /** Presentation time, after the edit list. */
  readonly ticks: number;
  readonly sizeBytes: number;
  readonly isKey: boolean;
}

export interface ReadFragment {
  /** In the order of decoding. */
  readonly samples: readonly ReadSample[];
  /** The bytes of all samples, one after the other. */
  readonly data: Uint8Array;
}

export interface ReadVideoInit {
  readonly codec: 'avc' | 'hevc' | 'av1';
  /** avcC, hvcC or av1C record. */
  readonly record: Uint8Array;
  readonly timescale: number;
  /** Presentation times are this much earlier than the fragments say. */
  readonly reorderTicks: number;
}

const need = <T>(value: T | undefined, name: string): T => {
  if (value === undefined) throw new KinoraError('media_failed', { details: { stage: 'read', reason: `no ${name}` } });
  return value;
};

/** Reads one `moof` and its `mdat`; other boxes may precede them. */
export const readFragment = (bytes: Uint8Array, reorderTicks: number): ReadFragment => {
  const view = viewOf(bytes);
  const tfdt = need(asFullBox(bytes, findBox(bytes, ['moof', 'traf', 'tfdt'])), 'tfdt');
  const trun = need(asFullBox(bytes, findBox(bytes, ['moof', 'traf', 'trun'])), 'trun');
  const mdat = need(findBox(bytes, ['mdat']), 'mdat');
  let decodeTicks = Number(view.getBigUint64(tfdt.content));
  const samples = Array.from(readTrackRun(view, trun), ({ duration, size, sync, compositionOffset }) => {
    const sample = { decodeTicks, ticks: decodeTicks + compositionOffset - reorderTicks, sizeBytes: size, isKey: sync };
    decodeTicks += duration;
    return sample;
  });
  return { samples, data: bytes.subarray(mdat.content, mdat.end) };
};

const MEDIA = ['moov', 'trak', 'mdia'];
const RECORDS = [
  { entry: 'avc1', box: 'avcC', codec: 'avc' },
  { entry: 'hvc1', box: 'hvcC', codec: 'hevc' },
  { entry: 'av01', box: 'av1C', codec: 'av1' },
] as const;
/** The fields of a visual sample entry before its boxes (ISO/IEC 14496-12, 12.1.3). */
const VISUAL_ENTRY_BYTES = 78;
const TIMESCALE_OFFSET = 12;
const EDIT_TIME_OFFSET = 8;

export const readVideoInit = (bytes: Uint8Array): ReadVideoInit => {
  const view = viewOf(bytes);
  const mdhd = need(findBox(bytes, [...MEDIA, 'mdhd']), 'mdhd');
  const stsd = need(findBox(bytes, [...MEDIA, 'minf', 'stbl', 'stsd']), 'stsd');
  const elst = findBox(bytes, ['moov', 'trak', 'edts', 'elst']);
  const configurations = RECORDS.flatMap(({ entry, box, codec }) => {
    const sample = findBox(bytes, [entry], stsd.content + 8, stsd.end);
    const record: Mp4Box | undefined = sample && findBox(bytes, [box], sample.content + VISUAL_ENTRY_BYTES, sample.end);
    return record ? [{ codec, record: bytes.slice(record.content, record.end) }] : [];
  });
  return {
    ...need(configurations[0], 'known codec'),
    timescale: view.getUint32(mdhd.content + TIMESCALE_OFFSET),
    reorderTicks: elst ? view.getUint32(elst.content + 4 + EDIT_TIME_OFFSET) : 0,
  };
};
