import { avcCodecs } from '../codecs/avc.js';
import type { Rational, SourceFacts } from '../source/source-facts.js';
import { originOf } from './clip.js';
import type { AdditionalRenditions } from './find-segment.js';
import { avcLevel, levelRate } from './ladder.js';
import type { AudioPlan, EncoderSettings, Plan, VideoPlan, VideoRendition } from './plan.js';

/** Where the packets of a stream are copied from. */
export interface CopiedStream {
  readonly from: 'source' | 'mezzanine';
  readonly formatName: string;
  readonly streamIndex: number;
  /** The time in that file, in seconds, that is zero on the timeline. */
  readonly zero: Rational;
}

/**
 * How the master of an asset is made: its visible content in the best available quality. A stream
 * is copied if its packets are what the asset shows and an MP4 can contain them. Otherwise it is
 * encoded, so that a clip contains only its part, and overlays and test mark are in the frames.
 */
export interface MasterPlan {
  readonly video?: { readonly copy: CopiedStream } | { readonly encode: VideoRendition };
  readonly audio?: { readonly copy: CopiedStream } | { readonly encode: AudioPlan };
}

export interface MasterInput {
  readonly plan: Plan;
  readonly facts: SourceFacts;
  /** The asset shows a part of the source. */
  readonly isCut: boolean;
}

/** The name of the master's renditions among those of the asset. */
export const MASTER_VIDEO = 'master';
export const MASTER_AUDIO = 'audio-master';

/** Codecs that players support in MP4. */
const COPIED_VIDEO = new Set(['h264', 'hevc', 'av1', 'vp9']);
const COPIED_AUDIO = new Set(['aac', 'alac', 'mp3', 'ac3', 'eac3', 'opus', 'flac']);
/** Formats whose packets have their own presentation times. */
const COPIED_FORMATS = /^(mov,|matroska|mpegts$|flv$|mp3$|aac$|flac$|ogg$)/;
/** The same as for the mezzanine, which is also the best that viewers of such an asset see. */
const CRF = 16;
/** Bits per pixel; a limit that frames of this quality hardly ever reach. */
const MAX_BITS_PER_PIXEL = 1;
const MIN_RATE = 2_000_000;
const HIGH_PROFILE = 100;
const AUDIO_BIT_RATE = 256_000;

export const planMaster = (input: MasterInput): MasterPlan => {
  const video = planVideo(input);
  const audio = planAudio(input, video !== undefined && 'copy' in video ? video.copy : undefined);
  return { ...(video && { video }), ...(audio && { audio }) };
};

/** The same without copied streams, for a source whose packets turn out not to fit into an MP4. */
export const planEncodedMaster = (input: MasterInput): MasterPlan => planMaster({ ...input, isCut: true });

const planVideo = ({ plan, facts, isCut }: MasterInput): MasterPlan['video'] => {
  const { video } = plan;
  if (!video || !facts.video) return undefined;
  const { access, formatName, streamIndex, filters } = video;
  const shown = { num: video.originTicks, den: video.timescale };
  const isPlain = !isCut && !filters.testMark && !filters.overlays;
  const { codec, simpleEditList } = facts.video;
  if (
    isPlain &&
    (access === 'mezzanine' || (COPIED_VIDEO.has(codec) && COPIED_FORMATS.test(formatName) && simpleEditList))
  )
    return { copy: { from: access, formatName, streamIndex, zero: shown } };
  return { encode: masterRendition(video.renditions.at(-1)!, video) };
};

/** The largest frame of the asset. */
const masterRendition = (top: VideoRendition, video: VideoPlan): VideoRendition => {
  const { width, height, frameStep } = top;
  const { frameRate } = video;
  const framesPerSecond = frameRate.num > 0 ? frameRate.num / frameRate.den / frameStep : 30;
  const maxRate = Math.ceil(width * height * framesPerSecond * MAX_BITS_PER_PIXEL) + MIN_RATE;
  const level = avcLevel(top, levelRate(video, frameStep));
  const encoder: EncoderSettings = { preset: 'veryfast', crf: CRF, maxRate, level };
  const codecs = avcCodecs(HIGH_PROFILE, 0, level);
  return { name: MASTER_VIDEO, kind: 'encode', width, height, frameStep, codecs, bandwidth: maxRate * 2, encoder };
};

const planAudio = ({ plan, facts, isCut }: MasterInput, copiedVideo: CopiedStream | undefined): MasterPlan['audio'] => {
  const source = facts.audio[0];
  if (!plan.audio || !source) return undefined;
  const { formatName, streamIndex } = plan.audio;
  // If there is a mezzanine, the source's times can't be trusted.
  const isPlain = !isCut && (plan.video === undefined || copiedVideo?.from === 'source');
  const fits = COPIED_AUDIO.has(source.codec) && COPIED_FORMATS.test(formatName);
  if (isPlain && fits && source.simpleEditList)
    return { copy: { from: 'source', formatName, streamIndex, zero: copiedVideo?.zero ?? originOf(plan) } };
  const { gainDb: _gainDb, ...audio } = plan.audio;
  // Audio that is copied frame by frame stays unchanged.
  return { encode: audio.mode === 'copy' ? audio : { ...audio, bitRate: AUDIO_BIT_RATE } };
};

/**
 * The streams that have to be encoded, as additional renditions of the asset's plan.
 * @param sourceKey the blob with the audio
 */
export const masterRenditions = ({ video, audio }: MasterPlan, sourceKey: string): AdditionalRenditions => ({
  ...(video && 'encode' in video && { video: [video.encode] }),
  ...(audio && 'encode' in audio && { audio: new Map([[MASTER_AUDIO, { audio: audio.encode, sourceKey }]]) }),
});
