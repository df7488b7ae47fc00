import { findBox, viewOf } from '../mp4/box-reader.js';
import { ascii, box, concat, u32, u64 } from '../mp4/box-writer.js';
import { readFragmentIndexes } from '../mp4/progressive.js';
import type { VideoFacts } from '../source/source-facts.js';
import type { CutPart, TrackKind } from './live-segmenter.js';
import type { LatencyMode } from './live-track.js';

/**
 * The file of a recording, which only grows until its end: `ftyp`, then one `mdat` with records.
 * A record is a `free` box: facts in JSON, or a part as viewers get it (`styp`, `moof`, `mdat`)
 * after a header of fixed size. At the end, a `moov` with the samples of all parts follows, and the
 * size of the `mdat` is written into its header: then the file is an ordinary MP4, and readers see
 * two boxes instead of every record.
 */

/** Facts that the parts don't tell. */
export type RecordingFact =
  | {
      readonly type: 'start';
      readonly version: 1;
      readonly latencyMode: LatencyMode;
      readonly firstSequence: number;
      readonly firstDiscontinuity: number;
      /** Wall clock, in milliseconds since 1970. */
      readonly wallMs: number;
    }
  | { readonly type: 'session'; readonly wallMs: number; readonly kind: SessionKind }
  | {
      readonly type: 'video-config';
      readonly config: number;
      readonly codec: 'avc' | 'hevc' | 'av1';
      /** Base64. */
      readonly record: string;
      /** See `VideoInit`. */
      readonly reorderTicks: number;
      readonly frameRate?: { readonly num: number; readonly den: number };
      readonly slate?: true;
    }
  | {
      readonly type: 'audio-config';
      readonly config: number;
      readonly record: string;
      readonly timescale: number;
    }
  | { readonly type: 'target'; readonly targetSeconds: number }
  /** What a media process has found in the first segment. */
  | { readonly type: 'probed'; readonly video: VideoFacts }
  /** Another server continues: what follows is of this `LiveSegment.version`. */
  | { readonly type: 'takeover'; readonly version: number }
  | ({ readonly type: 'empty' } & EmptyRecord);

export type SessionKind = 'content' | 'slate';

/** A segment in which one track has no frames. */
export interface EmptyRecord {
  readonly track: TrackKind;
  readonly segment: number;
  readonly startTicks: number;
  readonly durationTicks: number;
  readonly discontinuity: boolean;
  readonly wallMs: number;
}

export interface PartRecord extends Omit<CutPart, 'samples' | 'data'> {
  /** Wall clock of the first frame, in milliseconds since 1970. */
  readonly wallMs: number;
}

const MAGIC = 'knra';
const FACT = 1;
const PART = 2;
const INDEPENDENT = 1;
const DISCONTINUITY = 2;
const OPEN = 4;
/** Size, type, magic, kind. */
const RECORD_HEAD_BYTES = 16;
/** Before the bytes that viewers get. */
export const PART_HEAD_BYTES = RECORD_HEAD_BYTES + 40;
const MDAT_HEAD_BYTES = 16;

const fileType = box('ftyp', ascii('isom'), u32(512), ascii('isom'), ascii('iso6'), ascii('mp41'));
/** Where the records begin. */
export const RECORDS_START = fileType.length + MDAT_HEAD_BYTES;

/** What precedes the records. The size of the `mdat` is not known yet. */
export const writeRecordingStart = (): Uint8Array => concat([fileType, u32(1), ascii('mdat'), u64(0)]);

/** The bytes to put at `offset` when the records end at `recordsEnd`. */
export const writeRecordsEnd = (recordsEnd: number): { readonly offset: number; readonly bytes: Uint8Array } => ({
  offset: RECORDS_START - 8,
  bytes: u64(recordsEnd - fileType.length),
});

const recordHead = (kind: number, contentBytes: number): Uint8Array =>
  concat([u32(RECORD_HEAD_BYTES + contentBytes), ascii('free'), ascii(MAGIC), u32(kind)]);

export const writeFact = (fact: RecordingFact): Uint8Array => {
  const content = new TextEncoder().encode(JSON.stringify(fact));
  return concat([recordHead(FACT, content.length), content]);
};

/** Precedes the `fragmentBytes` bytes of the part. */
export const writePartHead = (part: PartRecord, fragmentBytes: number): Uint8Array => {
  const fields = new DataView(new ArrayBuffer(PART_HEAD_BYTES - RECORD_HEAD_BYTES));
  fields.setUint32(0, part.segment);
  fields.setUint32(4, part.part);
  fields.setFloat64(8, part.startTicks);
  fields.setFloat64(16, part.wallMs);
  fields.setUint32(24, part.durationTicks);
  fields.setUint32(28, part.config);
  fields.setUint32(32, part.track === 'video' ? 0 : 1);
  const starts = part.independent ? INDEPENDENT : part.open ? OPEN : 0;
  fields.setUint32(36, starts | (part.discontinuity ? DISCONTINUITY : 0));
  return concat([recordHead(PART, fields.byteLength + fragmentBytes), new Uint8Array(fields.buffer)]);
};

export type RecordHead =
  | { readonly kind: 'fact'; readonly sizeBytes: number }
  | { readonly kind: 'part'; readonly sizeBytes: number; readonly part: PartRecord };

/** The record that begins with `bytes`; undefined when it is none or the bytes don't suffice. */
export const readRecordHead = (bytes: Uint8Array): RecordHead | undefined => {
  if (bytes.length < RECORD_HEAD_BYTES) return undefined;
  const view = viewOf(bytes);
  const sizeBytes = view.getUint32(0);
  if (Buffer.from(bytes.subarray(4, 12)).toString('latin1') !== `free${MAGIC}`) return undefined;
  const kind = view.getUint32(12);
  if (kind === FACT && sizeBytes >= RECORD_HEAD_BYTES) return { kind: 'fact', sizeBytes };
  if (kind !== PART || sizeBytes <= PART_HEAD_BYTES || bytes.length < PART_HEAD_BYTES) return undefined;
  const flags = view.getUint32(RECORD_HEAD_BYTES + 36);
  const part: PartRecord = {
    segment: view.getUint32(RECORD_HEAD_BYTES),
    part: view.getUint32(RECORD_HEAD_BYTES + 4),
    startTicks: view.getFloat64(RECORD_HEAD_BYTES + 8),
    wallMs: view.getFloat64(RECORD_HEAD_BYTES + 16),
    durationTicks: view.getUint32(RECORD_HEAD_BYTES + 24),
    config: view.getUint32(RECORD_HEAD_BYTES + 28),
    track: view.getUint32(RECORD_HEAD_BYTES + 32) === 0 ? 'video' : 'audio',
    independent: (flags & INDEPENDENT) !== 0,
    open: (flags & OPEN) !== 0,
    discontinuity: (flags & DISCONTINUITY) !== 0,
  };
  return { kind: 'part', sizeBytes, part };
};

/** How much of a record must be known without its media: facts as a whole. */
export const recordIndexBytes = (head: RecordHead): number => (head.kind === 'part' ? PART_HEAD_BYTES : head.sizeBytes);

/** Undefined when the record, which is whole, holds no fact. */
export const readFact = (record: Uint8Array): RecordingFact | undefined => {
  try {
    return JSON.parse(Buffer.from(record.subarray(RECORD_HEAD_BYTES)).toString('utf8')) as RecordingFact;
  } catch {
    return undefined;
  }
};

/** When the last frame of a part ends that viewers see; `fragment` is the beginning of the part. */
export const presentationEnd = (fragment: Uint8Array, startTicks: number, reorderTicks: number): number => {
  const part = findPartIndex(fragment);
  let decodeTicks = startTicks;
  let end = startTicks;
  for (const { durations, compositionOffsets } of part ? readFragmentIndexes(part.index) : [])
    durations.forEach((duration, sample) => {
      end = Math.max(end, decodeTicks + compositionOffsets[sample]! - reorderTicks + duration);
      decodeTicks += duration;
    });
  return end;
};

/** The `moof` of a part, without its record; undefined when the bytes don't contain all of it. */
export const findPartIndex = (
  fragment: Uint8Array,
): { readonly index: Uint8Array; readonly samplesAt: number } | undefined => {
  const styp = viewOf(fragment).getUint32(0);
  if (fragment.length < styp + 8) return undefined;
  const end = styp + viewOf(fragment).getUint32(styp);
  if (fragment.length < end || !findBox(fragment, ['moof'], styp, end)) return undefined;
  // The header of the `mdat` has 8 bytes.
  return { index: fragment.subarray(styp, end), samplesAt: end + 8 };
};
