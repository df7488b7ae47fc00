import { NOMINAL_RATES } from '../source/frames.js';
import { type EbmlElement, listElements, readUnsigned } from './ebml.js';
import type { MatroskaLayout } from './layout.js';

/**
 * What a Matroska file says about the times of its video, without its frames. Times are in ticks of
 * the file.
 */
export interface MatroskaTiming {
  readonly ticksPerFrame: number;
  /** The cues of the video. Times and positions ascend. */
  readonly cues: readonly Cue[];
}

/** A key frame. */
export interface Cue {
  readonly ticks: number;
  /** The position of the cluster that contains it. */
  readonly position: number;
}

/** The content of these elements. */
export interface TimingElements {
  readonly info: Uint8Array;
  readonly tracks: Uint8Array;
  readonly cues: Uint8Array;
}

const TIMESTAMP_SCALE = 0x2ad7b1;
const DEFAULT_TIMESTAMP_SCALE = 1_000_000;
const TRACK_ENTRY = 0xae;
const TRACK_NUMBER = 0xd7;
const TRACK_TYPE = 0x83;
const DEFAULT_DURATION = 0x23e383;
const CUE_POINT = 0xbb;
const CUE_TIME = 0xb3;
const CUE_TRACK_POSITIONS = 0xb7;
const CUE_TRACK = 0xf7;
const CUE_CLUSTER_POSITION = 0xf1;
const VIDEO = 1;

/**
 * Reads the cues and the frame duration of the only video track; a reason when the times can't be
 * known from them.
 */
export const readMatroskaTiming = (
  { info, tracks, cues }: TimingElements,
  { origin, firstCluster }: MatroskaLayout,
  sizeBytes: number,
): MatroskaTiming | string => {
  const scale = unsignedOf(info, { content: 0, end: info.length }, TIMESTAMP_SCALE) ?? DEFAULT_TIMESTAMP_SCALE;
  const entries = childrenOf(tracks, { content: 0, end: tracks.length }, TRACK_ENTRY);
  const [video, another] = entries.filter((entry) => unsignedOf(tracks, entry, TRACK_TYPE) === VIDEO);
  if (!video || another) return 'it has not exactly one video track';
  const duration = unsignedOf(tracks, video, DEFAULT_DURATION);
  if (!duration || !scale) return 'its video has no default duration, so its frame rate may vary';
  const track = unsignedOf(tracks, video, TRACK_NUMBER);
  const list: Cue[] = [];
  for (const point of childrenOf(cues, { content: 0, end: cues.length }, CUE_POINT)) {
    const ticks = unsignedOf(cues, point, CUE_TIME);
    const positions = childrenOf(cues, point, CUE_TRACK_POSITIONS).find(
      (at) => unsignedOf(cues, at, CUE_TRACK) === track,
    );
    const offset = positions && unsignedOf(cues, positions, CUE_CLUSTER_POSITION);
    if (ticks !== undefined && offset !== undefined) list.push({ ticks, position: origin + offset });
  }
  if (list.length === 0) return 'it has no cues for its video';
  const ascends = list.every(({ ticks, position }, at) => {
    const before = list[at - 1] ?? { ticks: -1, position: firstCluster };
    return ticks > before.ticks && position >= before.position && position < sizeBytes;
  });
  return ascends
    ? { ticksPerFrame: exactNanoseconds(duration) / scale, cues: list }
    : 'its cues are not in order or point beyond the file';
};

/**
 * Whole nanoseconds are too coarse for 30000/1001 frames per second: over hours, the error adds up
 * to a tick.
 */
const exactNanoseconds = (duration: number): number => {
  const periods = NOMINAL_RATES.map(({ num, den }) => (1e9 * den) / num);
  return periods.find((period) => Math.abs(period - duration) < 1) ?? duration;
};

type Content = Pick<EbmlElement, 'content' | 'end'>;

const childrenOf = (bytes: Uint8Array, { content, end }: Content, id: number): EbmlElement[] =>
  (listElements(bytes, content, end) ?? []).filter((child) => child.id === id);

const unsignedOf = (bytes: Uint8Array, parent: Content, id: number): number | undefined => {
  const child = childrenOf(bytes, parent, id)[0];
  return child && readUnsigned(bytes, child);
};
