import { plainText } from './plain-text.js';
import { type Cue, timestamp } from './subtitles.js';

/**
 * A text track as a WebVTT file with the offset and times of each cue, so that a part can be
 * returned without parsing the rest. Cues are sorted by start; times are in seconds, rounded to
 * milliseconds.
 */
export interface IndexedText {
  readonly bytes: Uint8Array;
  readonly startSeconds: Float64Array;
  readonly endSeconds: Float64Array;
  /** Offset of each cue in `bytes`, and the offset at which the next cue would begin. */
  readonly offsets: Float64Array;
}

/** A cue whose timing is not written yet. `rest` holds the settings and the lines of text. */
interface Block {
  readonly startSeconds: number;
  readonly endSeconds: number;
  readonly rest: string;
}

const HEADER = 'WEBVTT\n';
/** Cue times and media segments share the same zero (RFC 8216, 3.5). */
const SEGMENT_HEADER = 'WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:0,LOCAL:00:00:00.000\n';

const toMilliseconds = (seconds: number): number => Math.round(seconds * 1000) / 1000;

const writeBlocks = (blocks: readonly Block[]): IndexedText => {
  const startSeconds = new Float64Array(blocks.length);
  const endSeconds = new Float64Array(blocks.length);
  const offsets = new Float64Array(blocks.length + 1);
  const parts = [HEADER];
  let offset = HEADER.length + 1;
  blocks.forEach((block, at) => {
    const text = `\n${timestamp(block.startSeconds)} --> ${timestamp(block.endSeconds)}${block.rest}\n`;
    parts.push(text);
    startSeconds[at] = toMilliseconds(block.startSeconds);
    endSeconds[at] = toMilliseconds(block.endSeconds);
    offsets[at] = offset;
    offset += Buffer.byteLength(text);
  });
  offsets[blocks.length] = offset;
  return { bytes: Buffer.from(parts.join('')), startSeconds, endSeconds, offsets };
};

/** `cues` must be sorted by start. */
export const indexCues = (cues: readonly Cue[]): IndexedText =>
  writeBlocks(
    cues.map(({ startSeconds, endSeconds, settings, text }) => ({
      startSeconds,
      endSeconds,
      rest: `${settings && ` ${settings}`}\n${text}`,
    })),
  );

/** Cues per group. For most groups, only the latest end is read. */
const GROUP = 64;
const latestEnds = new WeakMap<IndexedText, Float64Array>();

/** The latest end of each group of cues, computed once per text. */
const latestEndsOf = (text: IndexedText): Float64Array => {
  const cached = latestEnds.get(text);
  if (cached) return cached;
  const { endSeconds } = text;
  const ends = new Float64Array(Math.ceil(endSeconds.length / GROUP)).fill(Number.NEGATIVE_INFINITY);
  endSeconds.forEach((end, at) => {
    const group = Math.floor(at / GROUP);
    ends[group] = Math.max(ends[group]!, end);
  });
  latestEnds.set(text, ends);
  return ends;
};

/** Numbers of the cues that are displayed within [fromSeconds, untilSeconds). */
export const findCues = (text: IndexedText, fromSeconds: number, untilSeconds: number): number[] => {
  const { startSeconds, endSeconds } = text;
  const cues: number[] = [];
  for (const [group, latestEnd] of latestEndsOf(text).entries()) {
    const first = group * GROUP;
    if (startSeconds[first]! >= untilSeconds) break;
    if (latestEnd <= fromSeconds) continue;
    for (let at = first; at < Math.min(first + GROUP, endSeconds.length); at++) {
      if (startSeconds[at]! >= untilSeconds) break;
      if (endSeconds[at]! > fromSeconds) cues.push(at);
    }
  }
  return cues;
};

/** The lines of a cue, including the last line end. */
const blockOf = ({ bytes, offsets }: IndexedText, at: number): Uint8Array =>
  bytes.subarray(offsets[at], offsets[at + 1]! - 1);

/**
 * One segment of an HLS subtitle rendition: every cue that is displayed within [fromSeconds,
 * untilSeconds), with its full times, so that players recognize a cue that continues in the next
 * segment (RFC 8216, 3.5).
 */
export const textSegment = (text: IndexedText, fromSeconds: number, untilSeconds: number): Buffer => {
  const cues = findCues(text, fromSeconds, untilSeconds);
  const gap = Buffer.from('\n');
  return Buffer.concat([Buffer.from(SEGMENT_HEADER), ...cues.flatMap((at) => [gap, blockOf(text, at)])]);
};

/** The text without times, one line per cue. */
export const transcriptOf = (text: IndexedText): string =>
  Array.from(text.startSeconds, (_, at) => {
    const [, ...lines] = Buffer.from(blockOf(text, at)).toString().trimEnd().split('\n');
    return plainText(lines.join(' '));
  }).join('\n');

/** All cues, in the form that `indexCues` takes. */
export const listCues = (text: IndexedText): Cue[] =>
  Array.from(text.startSeconds, (startSeconds, at) => {
    // The first line is the timing, followed by settings.
    const [timing = '', ...lines] = Buffer.from(blockOf(text, at)).toString().trimEnd().split('\n');
    return {
      startSeconds,
      endSeconds: text.endSeconds[at]!,
      settings: timing.replace(/^\S+ --> \S+ ?/, ''),
      text: lines.join('\n'),
    };
  });

/**
 * The part within [fromSeconds, untilSeconds), cut at both ends, with times relative to
 * `fromSeconds`.
 */
export const clipText = (text: IndexedText, fromSeconds: number, untilSeconds: number): IndexedText => {
  const blocks = findCues(text, fromSeconds, untilSeconds).map((at) => ({
    startSeconds: Math.max(text.startSeconds[at]! - fromSeconds, 0),
    endSeconds: Math.min(text.endSeconds[at]!, untilSeconds) - fromSeconds,
    // Times contain no spaces.
    rest: Buffer.from(blockOf(text, at))
      .toString()
      .slice(0, -1)
      .replace(/^\S+ --> \S+/, ''),
  }));
  // A rest of less than a millisecond can't be written.
  return writeBlocks(blocks.filter((block) => toMilliseconds(block.endSeconds) > toMilliseconds(block.startSeconds)));
};

/** The index without the text, for the blob store. Little-endian, like all supported machines. */
export const writeTextIndex = ({ startSeconds, endSeconds, offsets }: IndexedText): Uint8Array =>
  Buffer.concat(
    [startSeconds, endSeconds, offsets].map(({ buffer, byteOffset, byteLength }) =>
      Buffer.from(buffer, byteOffset, byteLength),
    ),
  );

/** Undefined when `index` does not belong to `bytes`. */
export const readTextIndex = (bytes: Uint8Array, index: Uint8Array): IndexedText | undefined => {
  const numbers = new Float64Array(Uint8Array.from(index.subarray(0, index.length - (index.length % 8))).buffer);
  const count = (numbers.length - 1) / 3;
  if (!Number.isInteger(count) || numbers.at(-1) !== bytes.length + 1) return undefined;
  const [startSeconds, endSeconds] = [numbers.subarray(0, count), numbers.subarray(count, 2 * count)];
  return { bytes, startSeconds, endSeconds, offsets: numbers.subarray(2 * count) };
};
