import { KinoraError } from '../lib/errors.js';
import { AAC_FRAME_SAMPLES } from '../media/codecs/aac.js';
import { verifyFragment, verifyInit } from '../media/mp4/fragment-verifier.js';
import { verifyTemporalUnits } from '../media/mp4/verify-temporal-units.js';
import type { AudioPlan, VideoPlan, VideoRendition } from '../media/plan/plan.js';
import type { VideoSegmentResult } from '../pool/protocol.js';

/**
 * Compares a result with the plan before it becomes visible. All functions throw KinoraError
 * `media_failed`.
 */

/** Several times what eight seconds of the best copied source have. */
export const MAX_SEGMENT_BYTES = 256 * 2 ** 20;
/**
 * Some undecodable frames of a damaged source are displayed longer or skipped; more is a segment
 * that must not be kept.
 */
const MAX_MISSING = 0.1;

/**
 * @returns how many frames of the source the segment lacks: negative when it has more than the
 * source counts, 0 when the source doesn't count them.
 */
export const verifyVideoSegment = (
  bytes: Uint8Array,
  video: VideoPlan,
  { reorderTicks, width, height, encoder }: VideoRendition,
  number: number,
  result: VideoSegmentResult,
): number => {
  const start = video.boundaries[number]!;
  verifyFragment(bytes, {
    baseDecodeTicks: start,
    durationTicks: video.boundaries[number + 1]! - start,
    sampleCount: result.sampleCount,
    firstSync: true,
    ...(reorderTicks !== undefined && { reorderTicks }),
  });
  if (encoder?.codec === 'av1') verifyTemporalUnits(bytes, { width, height, level: encoder.level });
  const expected = video.frameCounts?.[number] ?? result.frameCount;
  const missing = expected - result.frameCount;
  if (Math.abs(missing) > expected * MAX_MISSING) {
    const details = {
      kind: 'video-segment',
      stage: 'verify',
      segment: number,
      expected_frames: expected,
      frames: result.frameCount,
    };
    throw new KinoraError('media_failed', { details });
  }
  return missing;
};

export const verifyVideoInit = (bytes: Uint8Array, video: VideoPlan, rendition: VideoRendition): void =>
  verifyInit(bytes, {
    timescale: video.timescale,
    codecs: rendition.codecs,
    width: rendition.width,
    height: rendition.height,
    ...(rendition.reorderTicks !== undefined && { reorderTicks: rendition.reorderTicks }),
  });

export const verifyAudioSegment = (bytes: Uint8Array, audio: AudioPlan, number: number): void => {
  const first = audio.boundaries[number]!;
  const frames = audio.boundaries[number + 1]! - first;
  verifyFragment(bytes, {
    baseDecodeTicks: first * AAC_FRAME_SAMPLES,
    durationTicks: frames * AAC_FRAME_SAMPLES,
    sampleCount: frames,
    firstSync: true,
  });
};

export const verifyAudioInit = (bytes: Uint8Array, audio: AudioPlan): void =>
  verifyInit(bytes, { timescale: audio.sampleRate, codecs: audio.codecs });
