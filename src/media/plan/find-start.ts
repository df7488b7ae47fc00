import { isMpegStreamFormat, listFrames } from '../source/frames.js';
import { compare, reduce, toNumber } from '../source/rational.js';
import type { Rational, SourceFacts } from '../source/source-facts.js';
import type { SourceIndex, StreamIndex } from '../source/source-index.js';
import { displaySize } from './ladder.js';
import type { VideoPlan } from './plan.js';

/** The re-encoded frames: upright, square pixels, SDR, progressive, with the source's times. */
export interface MezzanineVideo {
  readonly index: StreamIndex;
  readonly width: number;
  readonly height: number;
  readonly timeBase: Rational;
}

/** The part of a source that a clip shows, in seconds on the timeline of its source asset. */
export interface ClipRange {
  readonly startSeconds: number;
  /** Absent means to the end. */
  readonly endSeconds?: number;
  /** The source time that is zero on that timeline, in seconds. */
  readonly zero: Rational;
}

interface PresentedFile {
  readonly facts: SourceFacts;
  readonly index: SourceIndex;
  readonly mezzanine?: MezzanineVideo;
}

/** The video stream of any file. */
export interface FrameSource {
  readonly access: VideoPlan['access'];
  readonly formatName: string;
  readonly streamIndex: number;
  readonly timeBase: Rational;
  readonly index: StreamIndex;
  /** Stream ticks, ascending. */
  readonly frames: Float64Array;
  readonly display: { readonly width: number; readonly height: number };
}

/** The demuxer of the mezzanine, a fragmented MP4. */
const MEZZANINE_FORMAT = 'mov,mp4,m4a,3gp,3g2,mj2';
/** For audio-only clips. */
const CLIP_TIMESCALE = 48_000;
const CLIP_TOLERANCE_TICKS = 0.01;
/**
 * A clip begins with its first frame; a frame that is displayed for longer than this is cut
 * instead.
 */
const LONG_FRAME_SECONDS = 0.25;

/** The primary audio, if it can be played. */
export const findAudio = ({ facts, index }: Pick<PresentedFile, 'facts' | 'index'>) => {
  const audio = facts.audio[0];
  return audio && index.audio && index.audio.pts.length > 0 ? { audio, index: index.audio } : undefined;
};

/**
 * The earliest presented frame or sample of a file, in its own time; undefined when it has neither.
 */
export const findStart = (
  file: Pick<PresentedFile, 'facts' | 'index'>,
  source: FrameSource | undefined = findFrames(file),
): Rational | undefined => {
  const audio = findAudio(file);
  const videoStart = source && seconds(source.frames[0]!, source.timeBase);
  const audioStart = audio && seconds(findAudioStart(audio.index.pts, file.facts.formatName), audio.audio.timeBase);
  const starts = [videoStart, audioStart].filter((time) => time !== undefined);
  return starts.length === 2 && compare(starts[1]!, starts[0]!) < 0 ? starts[1] : starts[0];
};

/**
 * The start of the frame that is displayed at the start of a clip. A clip never begins within a
 * frame, unless that frame is displayed for long.
 */
export const findClipStart = ({ zero, startSeconds }: ClipRange, source: FrameSource | undefined): Rational => {
  const { num, den } = source?.timeBase ?? { num: 1, den: CLIP_TIMESCALE };
  const startTicks = ((toNumber(zero) + startSeconds) * den) / num;
  // Floating-point errors must not cost a frame.
  const displayed = source?.frames.findLast((pts) => pts <= startTicks + CLIP_TOLERANCE_TICKS);
  const isLong = displayed !== undefined && ((startTicks - displayed) * num) / den > LONG_FRAME_SECONDS;
  return seconds(displayed === undefined || isLong ? Math.round(startTicks) : displayed, { num, den });
};

/**
 * Audio before zero is priming and is not presented; only in program streams do times pass through
 * zero, when their clock wraps.
 */
const findAudioStart = (pts: Float64Array, formatName: string): number =>
  isMpegStreamFormat(formatName) ? minimum(pts) : Math.max(minimum(pts), 0);

const minimum = (times: Float64Array): number => times.reduce((least, time) => Math.min(least, time));
export const maximum = (times: Float64Array): number => times.reduce((most, time) => Math.max(most, time));
export const seconds = (ticks: number, timeBase: Rational): Rational =>
  reduce({ num: ticks * timeBase.num, den: timeBase.den });

/** Those of the mezzanine, if there is one; undefined without a frame. */
export const findFrames = ({ facts, index, mezzanine }: PresentedFile): FrameSource | undefined => {
  const { video } = facts;
  if (!video) return undefined;
  const source: Omit<FrameSource, 'frames'> | undefined = mezzanine
    ? {
        access: 'mezzanine',
        formatName: MEZZANINE_FORMAT,
        streamIndex: 0,
        timeBase: mezzanine.timeBase,
        index: mezzanine.index,
        display: { width: mezzanine.width, height: mezzanine.height },
      }
    : index.video && {
        access: 'source',
        formatName: facts.formatName,
        streamIndex: video.streamIndex,
        timeBase: video.timeBase,
        index: index.video,
        display: displaySize(video),
      };
  const frames = source && listFrames(source.index, source.formatName, !mezzanine && video.closedStart);
  return frames && frames.length > 0 ? { ...source, frames } : undefined;
};
