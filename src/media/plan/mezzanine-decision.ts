import { hasOpenGops, isMpegStreamFormat, listKeyFrames, longestGopTicks } from '../source/frames.js';
import type { SourceFacts } from '../source/source-facts.js';
import type { SourceIndex, StreamIndex } from '../source/source-index.js';

/** How frames of a source are read. */
export type AccessDecision =
  | { readonly access: 'direct' }
  | {
      readonly access: 'mezzanine';
      readonly reason: string;
      /** Key frames can't be trusted as cutting points: decode from start to end in one pass. */
      readonly sequential: boolean;
    };

/** Containers in which random segments were identical to a sequential decode. */
export const DIRECT_FORMATS: ReadonlySet<string> = new Set(['mov', 'matroska', 'avi', 'flv', 'mpegts', 'mpeg']);
export const MAX_GOP_SECONDS = 20;
const MAX_BIT_DEPTH = 10;
const DOLBY_VISION_WITHOUT_BASE_LAYER = 5;

/**
 * Decides whether segments may be decoded directly from the source. Audio never needs a mezzanine.
 */
export const decideAccess = (facts: SourceFacts, index: SourceIndex): AccessDecision => {
  const { video } = facts;
  if (!video) return { access: 'direct' };
  const mezzanine = (reason: string, sequential: boolean): AccessDecision => ({
    access: 'mezzanine',
    reason,
    sequential,
  });
  if (!DIRECT_FORMATS.has(facts.formatName.split(',')[0]!))
    return mezzanine(`no exact seeking in ${facts.formatName}`, true);
  if (index.discontinuous) return mezzanine('times jump or go back', true);
  if (!index.video || index.video.pts.length === 0) return mezzanine('the frames could not be indexed', true);
  if (!index.video.key.includes(1)) return mezzanine('no key frames', true);
  if (video.decodeTimesOnly) return mezzanine('B-frames have no presentation times', true);
  if (hasRepeatedTimes(index.video)) return mezzanine('frames share a time', true);
  if (isMpegStreamFormat(facts.formatName) && index.video.position.some((position) => position < 0))
    return mezzanine('byte positions are unknown', true);
  // Open GOPs have frames on both sides; otherwise such key frames are the start of an intra
  // refresh.
  if (video.idrKeyFrames === false && !hasOpenGops(index.video))
    return mezzanine('key frames do not restore the whole frame', true);
  if (video.falseKeyFrames) return mezzanine('packets marked as key frames hold none', true);
  if (video.unseekable) return mezzanine('the file has no index to seek by', true);
  const secondsPerTick = video.timeBase.num / video.timeBase.den;
  if (longestGopTicks(index.video) * secondsPerTick > MAX_GOP_SECONDS)
    return mezzanine(`key frames are more than ${MAX_GOP_SECONDS} s apart`, listKeyFrames(index.video).length < 2);
  if (video.dolbyVisionProfile === DOLBY_VISION_WITHOUT_BASE_LAYER) return mezzanine('Dolby Vision profile 5', false);
  if (video.bitDepth > MAX_BIT_DEPTH) return mezzanine(`${video.bitDepth} bits a sample`, false);
  return { access: 'direct' };
};

const hasRepeatedTimes = ({ pts }: StreamIndex): boolean => {
  const sorted = pts.slice().sort();
  return sorted.some((time, frame) => frame > 0 && time === sorted[frame - 1]);
};
