import type { AudioPlan, Plan, VideoPlan, VideoRendition } from './plan.js';

/** The name of the primary sound in addresses and in the cache, beside the names of the video renditions. */
export const AUDIO_RENDITION = 'audio';

/** `number` counts segments from 0. */
export type SegmentTarget =
  | {
      readonly kind: 'video';
      readonly video: VideoPlan;
      readonly rendition: VideoRendition;
      readonly number: number | 'init';
    }
  | { readonly kind: 'audio'; readonly audio: AudioPlan; readonly number: number | 'init' };

/** What the file `init.mp4` or `<number>.m4s` of a rendition is; undefined when the plan has no such file. */
export const findSegment = ({ video, audio }: Plan, name: string, file: string): SegmentTarget | undefined => {
  const digits = /^(0|[1-9]\d{0,6})\.m4s$/.exec(file)?.[1];
  if (digits === undefined && file !== 'init.mp4') return undefined;
  const number = digits === undefined ? 'init' : Number(digits);
  const inside = ({ boundaries }: VideoPlan | AudioPlan) => number === 'init' || number < boundaries.length - 1;
  if (name === AUDIO_RENDITION) return audio && inside(audio) ? { kind: 'audio', audio, number } : undefined;
  const rendition = video?.renditions.find((candidate) => candidate.name === name);
  return video && rendition && inside(video) ? { kind: 'video', video, rendition, number } : undefined;
};
