import { AAC_FRAME_SAMPLES } from '../codecs/aac.js';
import { avcCodecs } from '../codecs/avc.js';
import { findConstantRate, isMpegStreamFormat, listFrames } from '../source/frames.js';
import { compare, reduce, refine, rescale, toNumber } from '../source/rational.js';
import type { Rational, SourceFacts, VideoFacts } from '../source/source-facts.js';
import type { SourceIndex, StreamIndex } from '../source/source-index.js';
import { type AudioPlanInput, planAudio } from './audio-plan.js';
import { type CopyDecision, type CopyInput, decideCopy } from './copy-decision.js';
import { countLostFrames, holdFrames } from './frame-packets.js';
import { countFrames, planGrid } from './grid.js';
import {
  displaySize,
  findPeakRate,
  limitRungs,
  planLadder,
  type ResolutionTier,
  scaleRenditions,
  type VideoQuality,
} from './ladder.js';
import { decideOriginal, isOriginalCodec, originalRendition } from './original-decision.js';
import type { AudioPlan, Gain, Plan, VideoPlan, VideoRendition } from './plan.js';
import { findCopyReorder } from './sample-times.js';
import { type FilterSettings, planFilters } from './video-filters.js';

export interface AssetSettings extends FilterSettings {
  readonly quality: VideoQuality;
  readonly maxResolutionTier: ResolutionTier;
}

/** The re-encoded frames: upright, square pixels, SDR, progressive, with the source's times. */
export interface MezzanineVideo {
  readonly index: StreamIndex;
  readonly width: number;
  readonly height: number;
  readonly timeBase: Rational;
}

export interface PlanInput {
  readonly facts: SourceFacts;
  readonly index: SourceIndex;
  readonly settings: AssetSettings;
  readonly mezzanine?: MezzanineVideo;
  readonly clip?: ClipRange;
}

/** The part of a source that a clip shows, in seconds on the timeline of its source asset. */
export interface ClipRange {
  readonly startSeconds: number;
  /** Absent means to the end. */
  readonly endSeconds?: number;
  /** The source time that is zero on that timeline, in seconds. */
  readonly zero: Rational;
}

/** The demuxer of the mezzanine, a fragmented MP4. */
const MEZZANINE_FORMAT = 'mov,mp4,m4a,3gp,3g2,mj2';
const TEST_ASSET_SECONDS = 10;
/**
 * The timeline has at least this many ticks per second: the end of audio, and the repeats of the
 * last frame, lie between the ticks of AVI and Ogg, which are as long as a frame.
 */
const MIN_TIMESCALE = 1_000;
/** For audio-only clips. */
const CLIP_TIMESCALE = 48_000;
const CLIP_TOLERANCE_TICKS = 0.01;
/**
 * The maximum delay of video relative to audio in players that ignore edit lists, such as VLC: one
 * frame at 15 or more frames per second. At lower rates nothing is reordered, nor around single
 * frames that are displayed for longer.
 */
const MAX_REORDER_SECONDS = 1 / 15;
/**
 * A clip begins with its first frame; a frame that is displayed for longer than this is cut
 * instead.
 */
const LONG_FRAME_SECONDS = 0.25;
/** The video stream of any file. */
interface FrameSource {
  readonly access: VideoPlan['access'];
  readonly formatName: string;
  readonly streamIndex: number;
  readonly timeBase: Rational;
  readonly index: StreamIndex;
  /** Stream ticks, ascending. */
  readonly frames: Float64Array;
  readonly display: { readonly width: number; readonly height: number };
}

/** A plan before frames and audio are measured. */
export interface DraftPlan {
  readonly plan: Plan;
  readonly quality: VideoQuality;
  /** The input of the audio plan. */
  readonly audio?: AudioPlanInput;
}

export interface Measurements {
  readonly gain?: Gain | undefined;
  /** The share of the ladder's rates that the frames need, from `bitrateScale`; 1 by default. */
  readonly bitrateScale?: number | undefined;
}

/**
 * Applies measurements to a plan: the gain to its audio, the share of the rates to its encoded
 * renditions.
 */
export const finishPlan = ({ plan, quality, audio }: DraftPlan, { gain, bitrateScale = 1 }: Measurements): Plan => {
  const video = plan.video && {
    ...plan.video,
    renditions: scaleRenditions(plan.video.renditions, quality, bitrateScale),
  };
  return gain && audio ? assemble(video, planAudio({ ...audio, gain })) : { ...plan, ...(video && { video }) };
};

/** The plan of a source that is not measured. */
export const planAsset = (input: PlanInput): Plan => draftPlan(input).plan;

/**
 * Decides everything that a viewer gets. A source without a playable stream has `durationSeconds:
 * 0`.
 */
export const draftPlan = (input: PlanInput): DraftPlan => {
  const { facts, settings } = input;
  const source = findFrames(input);
  const audio = findAudio(input);

  const earliest = findStart(input, source);
  const videoEnd = source && seconds(source.frames.at(-1)! + source.index.lastDuration, source.timeBase);
  const audioEnd = audio && seconds(maximum(audio.index.pts) + audio.index.lastDuration, audio.audio.timeBase);
  const { quality } = settings;
  if (!earliest) return { plan: EMPTY_PLAN, quality };
  const zero = input.clip ? findClipStart(input.clip, source) : earliest;
  const lengths = [videoEnd, audioEnd].map((end) => (end ? toNumber(end) - toNumber(zero) : 0));
  const { clip } = input;
  const clipEnd = clip?.endSeconds === undefined ? undefined : toNumber(clip.zero) + clip.endSeconds - toNumber(zero);
  const limits = [clipEnd, settings.isTest ? TEST_ASSET_SECONDS : undefined].filter((end) => end !== undefined);
  const endSeconds = Math.min(Math.max(...lengths), ...limits);
  if (endSeconds <= 0) return { plan: EMPTY_PLAN, quality };

  const video = source && facts.video && planVideo(input, facts.video, source, zero, endSeconds);
  const audioInput = audio && {
    ...audio,
    formatName: facts.formatName,
    zero,
    endSeconds,
    ...(video && { videoBoundaries: video.boundaries.map((ticks) => ticks / video.timescale) }),
  };
  const plan = assemble(video, audioInput && planAudio(audioInput));
  return { plan, quality, ...(audioInput && { audio: audioInput }) };
};

const EMPTY_PLAN: Plan = { version: 1, durationSeconds: 0 };

/** At least one of the two is defined. */
const assemble = (video: VideoPlan | undefined, audio: AudioPlan | undefined): Plan => ({
  version: 1,
  durationSeconds: video
    ? video.boundaries.at(-1)! / video.timescale
    : (audio!.boundaries.at(-1)! * AAC_FRAME_SAMPLES) / audio!.sampleRate,
  ...(video && { video }),
  ...(audio && { audio }),
});

/** The primary audio, if it can be played. */
const findAudio = ({ facts, index }: Pick<PlanInput, 'facts' | 'index'>) => {
  const audio = facts.audio[0];
  return audio && index.audio && index.audio.pts.length > 0 ? { audio, index: index.audio } : undefined;
};

/**
 * The earliest presented frame or sample of a file, in its own time; undefined when it has neither.
 */
export const findStart = (
  file: Pick<PlanInput, 'facts' | 'index'>,
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
const findClipStart = ({ zero, startSeconds }: ClipRange, source: FrameSource | undefined): Rational => {
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
const maximum = (times: Float64Array): number => times.reduce((most, time) => Math.max(most, time));
const seconds = (ticks: number, timeBase: Rational): Rational =>
  reduce({ num: ticks * timeBase.num, den: timeBase.den });

const findFrames = ({
  facts,
  index,
  mezzanine,
}: Pick<PlanInput, 'facts' | 'index' | 'mezzanine'>): FrameSource | undefined => {
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

/** The frames of a video on the timeline of the asset. */
interface FrameTimeline {
  readonly timeBase: Rational;
  readonly originTicks: number;
  readonly endTicks: number;
  readonly toTimeline: (pts: number) => number;
  /** Ascending; the first frame is displayed from zero on. */
  readonly frameTicks: Float64Array;
  /** Negative: when the frame that is displayed at zero began. */
  readonly firstFrameTicks: number | undefined;
}

const placeFrames = (source: FrameSource, isClip: boolean, zero: Rational, endSeconds: number): FrameTimeline => {
  const timeBase = refine(source.timeBase, MIN_TIMESCALE);
  const originTicks = rescale(1, zero, { num: 1, den: timeBase.den });
  const toTimeline = (pts: number): number => pts * timeBase.num - originTicks;
  const endTicks = Math.max(Math.round(endSeconds * timeBase.den), 1);
  const allTicks = source.frames.map(toTimeline);
  if (!isClip) allTicks[0] = 0;
  const displayedAtZero = isClip ? allTicks.findLast((ticks) => ticks <= 0) : undefined;
  const firstFrameTicks = displayedAtZero !== undefined && displayedAtZero < 0 ? displayedAtZero : undefined;
  const frameTicks = allTicks.filter((ticks) => ticks >= (firstFrameTicks ?? 0) && ticks < endTicks);
  frameTicks[0] = 0;
  return { timeBase, originTicks, endTicks, toTimeline, frameTicks, firstFrameTicks };
};

const planVideo = (
  input: PlanInput,
  facts: VideoFacts,
  source: FrameSource,
  zero: Rational,
  endSeconds: number,
): VideoPlan => {
  const { settings } = input;
  const { index } = source;
  const timeline = placeFrames(source, input.clip !== undefined, zero, endSeconds);
  const { timeBase, originTicks, endTicks, toTimeline, frameTicks, firstFrameTicks } = timeline;
  const timescale = timeBase.den;
  const frameRate = findFrameRate(source, facts);
  const filters = planFilters(input, facts, source.display);
  const lostFrames = source.access === 'mezzanine' ? countLostFrames(input, source.frames) : 0;
  const peakFrameRate = findPeakRate(frameTicks, timescale);
  const isVariable = peakFrameRate * frameRate.den > frameRate.num;
  const ladder = planLadder({ frame: source.display, frameRate, peakFrameRate, ...settings });
  const copyInput: CopyInput = {
    facts: input.facts,
    video: facts,
    index,
    filters,
    quality: settings.quality,
    top: ladder.at(-1)!,
    frameTicks,
    toTimeline,
    endTicks,
    timescale,
  };
  const { copy, original, boundaries } = planCopies(copyInput, source.access, firstFrameTicks);
  const renditions = planRenditions(ladder, copy, copyInput);
  const countsFrames = source.access === 'mezzanine' || holdFrames(source.formatName, facts);
  return {
    access: source.access,
    formatName: source.formatName,
    streamIndex: source.streamIndex,
    timeBase,
    timescale,
    originTicks,
    boundaries,
    ...(countsFrames && { frameCounts: countFrames(frameTicks, boundaries) }),
    ...(isMpegStreamFormat(source.formatName) && { seekPoints: findSeekPoints(index, boundaries, toTimeline) }),
    lastFrameTicks: frameTicks.at(-1)!,
    ...(firstFrameTicks !== undefined && { firstFrameTicks }),
    ...(lostFrames > 0 && { lostFrames }),
    frameRate,
    ...(isVariable && { peakFrameRate }),
    filters,
    renditions,
    ...(original?.copy && {
      original: reordered(
        originalRendition(copyInput, original),
        findCopyReorder(index, original.boundaries, toTimeline),
      ),
    }),
    startRendition: renditions[Math.floor((renditions.length - 1) / 2)]!.name,
    copyDecision: copy.copy ? 'copied: the source fits the rung' : `encoded: ${copy.reason}${tellOriginal(original)}`,
  };
};

/** The ladder. Its top rung is a copy of the source where that is possible. */
const planRenditions = (
  ladder: ReturnType<typeof planLadder>,
  copy: CopyDecision,
  { video, index, top, frameTicks, toTimeline, endTicks, timescale }: CopyInput,
): VideoRendition[] => {
  const longestTicks = longestFrame(frameTicks, endTicks) * top.frameStep;
  const reorderTicks = Math.min(longestTicks, Math.ceil(MAX_REORDER_SECONDS * timescale));
  const rungs = copy.copy ? limitRungs(ladder.slice(0, -1), copy.bandwidth) : ladder;
  const encoded = rungs.map((rung) => reordered(rung, reorderTicks));
  if (!copy.copy) return encoded;
  const copied = copyRendition(top, video, copy.bandwidth, copy.averageBandwidth);
  return [...encoded, reordered(copied, findCopyReorder(index, copy.boundaries, toTimeline))];
};

/** What is copied from the source, and the boundaries that this requires for every rendition. */
const planCopies = (input: CopyInput, access: VideoPlan['access'], firstFrameTicks: number | undefined) => {
  const decide = (decision: (input: CopyInput) => CopyDecision): CopyDecision => {
    if (access === 'mezzanine') return { copy: false, reason: 'the frames come from a mezzanine' };
    if (firstFrameTicks !== undefined) return { copy: false, reason: 'the first frame began before the clip' };
    return decision(input);
  };
  const copy = decide(decideCopy);
  const original = isOriginalCodec(input.video.codec) ? decide(decideOriginal) : undefined;
  const copied = [copy, original].find((decision) => decision?.copy === true);
  return { copy, original, boundaries: copied?.copy ? copied.boundaries : planGrid(input) };
};

const reordered = <R extends VideoRendition>(rung: R, ticks: number): R =>
  ticks > 0 ? { ...rung, reorderTicks: ticks } : rung;

const tellOriginal = (original: CopyDecision | undefined): string => {
  if (!original) return '';
  return original.copy ? ', copied beside the ladder' : `, not copied: ${original.reason}`;
};

/**
 * The longest display duration of a frame in ticks, which is how much later B-frames are decoded:
 * with two in a row, at most one frame precedes a frame that is displayed before it. A longer one,
 * such as the last frame of a file whose audio is longer, is not reordered. A single frame is
 * repeated until the end.
 */
const longestFrame = (frameTicks: Float64Array, endTicks: number): number =>
  frameTicks.length === 1
    ? endTicks
    : frameTicks.reduce((longest, ticks, index) => Math.max(longest, (frameTicks[index + 1] ?? ticks) - ticks), 0);

const copyRendition = (
  { name, width, height, frameStep }: VideoRendition,
  { avcc }: VideoFacts,
  bandwidth: number,
  averageBandwidth: number,
): VideoRendition => {
  const [, profile = 0, constraints = 0, level = 0] = Buffer.from(avcc!, 'base64');
  const codecs = avcCodecs(profile, constraints, level);
  return { name, kind: 'copy', width, height, frameStep, codecs, bandwidth, averageBandwidth, avcc: avcc! };
};

const findFrameRate = (source: FrameSource, facts: VideoFacts): Rational => {
  const { frames, timeBase, formatName } = source;
  const constant = findConstantRate(frames, timeBase);
  if (constant) return constant;
  // Packets of program streams may be fields or several frames; for other formats the index is the
  // most accurate.
  const declared = facts.frameRate.num > 0 ? reduce(facts.frameRate) : undefined;
  if (declared && (frames.length < 2 || isMpegStreamFormat(formatName))) return declared;
  if (frames.length < 2) return { num: 0, den: 1 };
  const spanSeconds = ((frames.at(-1)! - frames[0]!) * timeBase.num) / timeBase.den;
  return reduce({ num: Math.max(Math.round(((frames.length - 1) * 1000) / spanSeconds), 1), den: 1000 });
};

/** For each segment, the last key frame that is displayed at or before its start. */
const findSeekPoints = (
  index: StreamIndex,
  boundaries: readonly number[],
  toTimeline: (pts: number) => number,
): { position: number; pts: number }[] => {
  const keys = Array.from(index.pts, (pts, packet) => ({ pts, position: index.position[packet]!, packet }))
    .filter(({ packet }) => index.key[packet])
    .sort((a, b) => a.pts - b.pts);
  let key = 0;
  return boundaries.slice(0, -1).map((start) => {
    while (key + 1 < keys.length && toTimeline(keys[key + 1]!.pts) <= start) key += 1;
    const { position, pts } = keys[key]!;
    return { position, pts };
  });
};
