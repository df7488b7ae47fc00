import { AAC_FRAME_SAMPLES } from '../../media/codecs/aac.js';
import { videoTier } from '../../media/plan/asset-properties.js';
import { type AdditionalRenditions, findSegment } from '../../media/plan/find-segment.js';
import type { Plan } from '../../media/plan/plan.js';
import type { Delivery } from './delivery-counter.js';

/** The usage of a file that was not sent as a whole: only its bytes count. */
export const partOf = <T extends Pick<Delivery, 'tier'>>({ startSeconds: _, ...delivered }: T & Partial<Delivery>) => ({
  ...delivered,
  seconds: 0,
});

/**
 * The usage of a whole rendition file: segments with frames have playing time, and those with audio
 * if there is no video. Undefined for files that are not counted.
 */
export const segmentDelivery = (
  plan: Plan,
  rendition: string,
  file: string,
  additional?: AdditionalRenditions,
): Pick<Delivery, 'tier' | 'seconds' | 'startSeconds' | 'isAv1'> | undefined => {
  const target = findSegment({ plan, additional }, rendition, file);
  if (!target || target.number === 'init') return undefined;
  if (target.kind === 'video') {
    const { video, number } = target;
    const ticks = video.boundaries[number + 1]! - video.boundaries[number]!;
    return {
      tier: videoTier(target.rendition.width, target.rendition.height),
      seconds: ticks / video.timescale,
      startSeconds: video.boundaries[number]! / video.timescale,
      ...(target.rendition.encoder?.codec === 'av1' && { isAv1: true }),
    };
  }
  // Beside video, audio only counts its bytes.
  if (plan.video) return { tier: 'audio-only', seconds: 0 };
  const { audio, number } = target;
  const frames = audio.boundaries[number + 1]! - audio.boundaries[number]!;
  const secondsOf = (count: number): number => (count * AAC_FRAME_SAMPLES) / audio.sampleRate;
  return { tier: 'audio-only', seconds: secondsOf(frames), startSeconds: secondsOf(audio.boundaries[number]!) };
};
