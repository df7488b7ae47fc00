import { AAC_FRAME_SAMPLES } from '../codecs/aac.js';
import { avcCodecs } from '../codecs/avc.js';
import { findConstantRate, isMpegStreamFormat } from '../source/frames.js';
import { reduce, refine, rescale, toNumber } from '../source/rational.js';
import type { Rational, SourceFacts, VideoFacts } from '../source/source-facts.js';
import type { SourceIndex, StreamIndex } from '../source/source-index.js';
import { type AudioPlanInput, planAudio } from './audio-plan.js';
import { type CopyDecision, type CopyInput, decideCopy } from './copy-decision.js';
import {
  type ClipRange,
  type FrameSource,
  findAudio,
  findClipStart,
  findFrames,
  findStart,
  type MezzanineVideo,
  maximum,
  seconds,
} from './find-start.js';
import { countLostFrames, holdFrames } from './frame-packets.js';
import { countFrames, planGrid } from './grid.js';
import {
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
  /** The source is a recording of a live stream, which has limited a test already. */
  readonly isRecording?: boolean;
  readonly quality: VideoQuality;
  readonly maxResolutionTier: ResolutionTier;
}

export interface PlanInput {
  readonly facts: SourceFacts;
  readonly index: SourceIndex;
  readonly settings: AssetSettings;
  readonly mezzanine?: MezzanineVideo;
  readonly clip?: ClipRange;
}

const TEST_ASSET_SECONDS = 10;
/**
 * The timeline has at least this many ticks per second: the end of audio, and the repeats of the
 * last frame, lie between the ticks of AVI and Ogg, which are as long as a frame.
 */
const MIN_TIMESCALE = 1_000;
/**
 * The maximum delay of video relative to audio in players that ignore edit lists, such as VLC: one
 * frame at 15 or more frames per second. At lower rates nothing is reordered, nor around single
 * frames that are displayed for longer.
 */
const MAX_REORDER_SECONDS = 1 / 15;
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
  const limits = [clipEnd, settings.isTest && !settings.isRecording ? TEST_ASSET_SECONDS : undefined].filter(
    (end) => end !== undefined,
  );
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
