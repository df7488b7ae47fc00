import { readAv1c } from '../codecs/av1.js';
import { readHvcc } from '../codecs/hevc.js';
import { isMovFormat } from '../source/frames.js';
import type { VideoFacts } from '../source/source-facts.js';
import { type CopyDecision, type CopyInput, cutForCopy, findFrameObstacle } from './copy-decision.js';
import type { OriginalRendition, OriginalStream } from './plan.js';

const PIXEL_FORMATS = new Set(['yuv420p', 'yuv420p10le']);
/** HEVC Main and Main 10. */
const HEVC_PROFILES = new Set([1, 2]);
/**
 * How far the busiest segment may exceed the limit of the H.264 rung of its size: cameras write
 * several times what viewers need, and players choose the variant only with enough bandwidth.
 * `basic` never sends more than its ladder.
 */
const PEAK_FACTOR = { basic: 1, plus: 4, premium: 4 } as const;

export const isOriginalCodec = (codec: string): codec is OriginalStream['codec'] => codec === 'hevc' || codec === 'av1';

/**
 * Decides whether the source's own HEVC or AV1 may be a variant in addition to the ladder, by the
 * requirements for copied H.264 that apply.
 */
export const decideOriginal = (input: CopyInput): CopyDecision => {
  const reason = findObstacle(input);
  return reason === undefined ? cutForCopy(input, PEAK_FACTOR[input.quality]) : { copy: false, reason };
};

const findObstacle = (input: CopyInput): string | undefined => {
  const { facts, video } = input;
  if (!isMovFormat(facts.formatName) && !facts.formatName.startsWith('matroska'))
    return `the container is ${facts.formatName}`;
  return findOriginalObstacle(video) ?? findFrameObstacle(input);
};

/** Why players may not decode the HEVC or AV1 of a source, although they know the codec. */
export const findOriginalObstacle = (video: VideoFacts): string | undefined => {
  if (!PIXEL_FORMATS.has(video.pixelFormat)) return `the pixel format is ${video.pixelFormat}`;
  if (video.decoderConfig === undefined) return 'decoding cannot start at its key frames';
  return findConfigObstacle(video, Buffer.from(video.decoderConfig, 'base64'));
};

const findConfigObstacle = ({ codec, profile }: VideoFacts, config: Uint8Array): string | undefined => {
  if (codec === 'av1') return readAv1c(config)?.profile === 0 ? undefined : 'the AV1 profile is not Main';
  const hvcc = readHvcc(config);
  if (!HEVC_PROFILES.has(profile)) return `HEVC profile ${profile}`;
  if (hvcc?.spsCount !== 1) return 'the stream has not exactly one sequence parameter set';
  return hvcc.lengthBytes === 4 ? undefined : 'lengths are not of 4 bytes';
};

/** The variant; `decision` is the result of `decideOriginal`. */
export const originalRendition = (
  { video, top, filters }: CopyInput,
  { bandwidth, averageBandwidth }: CopyDecision & { readonly copy: true },
): OriginalRendition => {
  const { name, width, height, frameStep } = top;
  const codec = video.codec as OriginalStream['codec'];
  const config = video.decoderConfig!;
  const bytes = Buffer.from(config, 'base64');
  const { codecs } = (codec === 'av1' ? readAv1c(bytes) : readHvcc(bytes))!;
  const videoRange = filters.toneMap && ({ pq: 'PQ', hlg: 'HLG' } as const)[filters.toneMap];
  return {
    name: `${name}-${codec}`,
    kind: 'copy',
    width,
    height,
    frameStep,
    codecs,
    bandwidth,
    averageBandwidth,
    original: { codec, config, ...(videoRange && { videoRange }) },
  };
};
