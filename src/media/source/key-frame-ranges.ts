import type { ByteRange } from '../../lib/byte-ranges.js';
import type { SourceIndex, StreamIndex } from './source-index.js';

/** Positions, as shares of the duration, at which the probe inspects a key frame. */
export const KEY_FRAME_POSITIONS = [0.25, 0.5, 0.75];

/** Bytes after a key frame: a decoder may need some frames before it returns the first one. */
const AHEAD_BYTES = 256 * 1024;
/** More frames than any codec reorders. */
const REORDERED_FRAMES = 64;

/**
 * What the probe reads of an MP4 or MOV at `KEY_FRAME_POSITIONS`. The demuxer seeks by decode times
 * and also returns audio that is stored just before a key frame. This is a prediction: the probe
 * reports what is missing. `timescales` are the ticks per second of the streams.
 */
export const keyFrameRanges = (
  { video, audio }: SourceIndex,
  timescales: { readonly video?: number | undefined; readonly audio?: number | undefined },
): ByteRange[] => {
  const { video: videoTimescale, audio: audioTimescale } = timescales;
  if (!video || video.pts.length === 0 || !videoTimescale) return [];
  const endTicks = (stream: StreamIndex): number => latest(stream.pts) + stream.lastDuration;
  const durationSeconds = Math.max(
    endTicks(video) / videoTimescale,
    audio && audioTimescale ? endTicks(audio) / audioTimescale : 0,
  );
  const delayTicks = decodeDelay(video);
  return KEY_FRAME_POSITIONS.map((share) => {
    const key = lastKeyFrame(video, durationSeconds * share * videoTimescale + delayTicks);
    const position = video.position[key]!;
    const seconds = (video.pts[key]! - delayTicks) / videoTimescale;
    const before = audio && audioTimescale ? positionAt(audio, seconds * audioTimescale) : position;
    return { start: Math.min(position, before), end: position + video.size[key]! + AHEAD_BYTES };
  });
};

const latest = (pts: Float64Array): number => pts.reduce((most, time) => Math.max(most, time), 0);

/**
 * By how much frames are decoded before they are displayed, judged by the start of the stream:
 * encoders delay them by up to a frame more than they need.
 */
const decodeDelay = ({ pts, lastDuration }: StreamIndex): number => {
  const first = pts.slice(0, REORDERED_FRAMES);
  const displayed = first.slice().sort();
  return lastDuration + displayed.reduce((most, time, at) => Math.max(most, time - first[at]!), 0);
};

const lastKeyFrame = ({ pts, key }: StreamIndex, ticks: number): number =>
  Math.max(
    pts.findLastIndex((time, at) => key[at] === 1 && time <= ticks),
    0,
  );

const positionAt = ({ pts, position }: StreamIndex, ticks: number): number =>
  position[
    Math.max(
      pts.findLastIndex((time) => time <= ticks),
      0,
    )
  ]!;
