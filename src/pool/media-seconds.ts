import type { MediaJob } from './protocol.js';

const SAMPLES_PER_FRAME = 1024;

/** The media duration that a job makes, for jobs whose speed determines whether viewers wait. */
export const mediaSeconds = (
  job: MediaJob,
): { readonly kind: 'encode' | 'copy' | 'audio'; readonly seconds: number } | undefined => {
  if (job.kind === 'video-segment') {
    return { kind: job.rendition.kind, seconds: (job.endTicks - job.startTicks) / job.timeBase.den };
  }
  if (job.kind === 'audio-chunk') {
    const frames = job.boundaries.at(-1)! - job.boundaries[0]!;
    return { kind: 'audio', seconds: (frames * SAMPLES_PER_FRAME) / job.audio.sampleRate };
  }
  return undefined;
};
