import { listKeyFrames } from './frames.js';
import type { Rational, SourceFacts } from './source-facts.js';
import type { SourceIndex, StreamIndex } from './source-index.js';

/**
 * What must have arrived after the last frame that is used: decoders and demuxers read ahead,
 * streams are interleaved.
 */
const AHEAD_SECONDS = 2;

/**
 * The index of the start of a file as if the file ended before a key frame, where the streams end
 * together. Undefined while nothing before such a key frame has arrived.
 */
export const arrivedPart = ({ video, audio, ...index }: SourceIndex, facts: SourceFacts): SourceIndex | undefined => {
  const ends = [
    video && facts.video && latest(video) * seconds(facts.video.timeBase),
    audio && facts.audio[0] && latest(audio) * seconds(facts.audio[0].timeBase),
  ].filter((end) => end !== undefined);
  let endSeconds = Math.min(...ends) - AHEAD_SECONDS;
  let frames: StreamIndex | undefined;
  if (video && facts.video) {
    const unit = seconds(facts.video.timeBase);
    const keys = listKeyFrames(video);
    const end = keys.findLast((pts) => pts * unit <= endSeconds);
    if (end === undefined || end === keys[0]) return undefined;
    frames = before(video, end);
    endSeconds = end * unit;
  }
  const samples = audio && facts.audio[0] && before(audio, Math.floor(endSeconds / seconds(facts.audio[0].timeBase)));
  if (!(frames ?? samples)?.pts.length) return undefined;
  return { ...index, ...(frames && { video: frames }), ...(samples && { audio: wholePackets(samples) }) };
};

const seconds = ({ num, den }: Rational): number => num / den;
const latest = ({ pts }: StreamIndex): number =>
  pts.reduce((most, time) => Math.max(most, time), Number.NEGATIVE_INFINITY);

/** The packets before `end`; the last one lasts until then. */
const before = (stream: StreamIndex, end: number): StreamIndex => {
  const isBefore = (_: number, packet: number): boolean => stream.pts[packet]! < end;
  const pts = stream.pts.filter(isBefore);
  return {
    pts,
    key: stream.key.filter(isBefore),
    size: stream.size.filter(isBefore),
    position: stream.position.filter(isBefore),
    lastDuration: Math.max(end - pts.reduce((most, time) => Math.max(most, time), 0), 1),
  };
};

/** Without the last packet, which may last longer than until the end. */
const wholePackets = (stream: StreamIndex): StreamIndex =>
  stream.pts.length > 1 ? before(stream, latest(stream)) : stream;
