/** Facts and indexes of imagined sources, for tests of the pure media core. */
import type { AudioFacts, SourceFacts, VideoFacts } from '../../../src/media/source/source-facts.js';
import type { StreamIndex } from '../../../src/media/source/source-index.js';

/** avcC of High profile, level 3.1, 4-byte lengths, one SPS of 4 bytes and one PPS of 2. */
export const AVCC = Buffer.from('0164001fffe100046764001f01000268ee', 'hex').toString('base64');

export const videoFacts = (changes: Partial<VideoFacts> = {}): VideoFacts => ({
  streamIndex: 0,
  codec: 'h264',
  profile: 100,
  level: 31,
  width: 1280,
  height: 720,
  sampleAspect: { num: 1, den: 1 },
  rotation: 0,
  flipHorizontal: false,
  pixelFormat: 'yuv420p',
  bitDepth: 8,
  timeBase: { num: 1, den: 15360 },
  frameRate: { num: 30, den: 1 },
  interlaced: false,
  color: { primaries: 'bt709', transfer: 'bt709', matrix: 'bt709', range: 'tv' },
  avcc: AVCC,
  bitRate: 0,
  closedCaptions: false,
  durationSeconds: 0,
  simpleEditList: true,
  ...changes,
});

export const audioFacts = (changes: Partial<AudioFacts> = {}): AudioFacts => ({
  streamIndex: 1,
  codec: 'aac',
  profile: 1,
  sampleRate: 48_000,
  channels: 2,
  channelLayout: 'stereo',
  timeBase: { num: 1, den: 48_000 },
  durationSeconds: 0,
  isDefault: true,
  audioSpecificConfig: 'EZA=',
  simpleEditList: true,
  ...changes,
});

export const sourceFacts = (changes: Partial<SourceFacts> = {}): SourceFacts => ({
  formatName: 'mov,mp4,m4a,3gp,3g2,mj2',
  sizeBytes: 1_000_000,
  durationSeconds: 0,
  audio: [],
  ...changes,
});

export interface IndexRecipe {
  /** Presentation times in file order. */
  readonly pts: readonly number[];
  /** Numbers of the key packets; all of them when absent. */
  readonly keys?: readonly number[];
  readonly sizeBytes?: number;
  readonly lastDuration: number;
}

export const streamIndex = ({ pts, keys, sizeBytes = 1000, lastDuration }: IndexRecipe): StreamIndex => ({
  pts: Float64Array.from(pts),
  key: Uint8Array.from(pts, (_, packet) => (!keys || keys.includes(packet) ? 1 : 0)),
  size: new Uint32Array(pts.length).fill(sizeBytes),
  position: Float64Array.from(pts, (_, packet) => packet * sizeBytes),
  lastDuration,
});

/** `count` frames `ticks` apart from `start` on, a key frame every `gop`, in display order. */
export const steadyIndex = (
  count: number,
  ticks: number,
  gop: number,
  { start = 0, sizeBytes = 1000 }: { start?: number; sizeBytes?: number } = {},
): StreamIndex => ({
  pts: Float64Array.from({ length: count }, (_, frame) => start + frame * ticks),
  key: Uint8Array.from({ length: count }, (_, frame) => (frame % gop === 0 ? 1 : 0)),
  size: new Uint32Array(count).fill(sizeBytes),
  position: Float64Array.from({ length: count }, (_, frame) => frame * sizeBytes),
  lastDuration: ticks,
});
