import type { AudioPlan, Plan, VideoPlan, VideoRendition } from './plan.js';

/**
 * The name of the primary audio in URLs and in the cache, which must differ from those of the video
 * renditions.
 */
export const AUDIO_RENDITION = 'audio';
const ALTERNATE_AUDIO = `${AUDIO_RENDITION}-`;

/** The name of the rendition of an alternate audio track. */
export const alternateAudioRendition = (trackId: string): string => `${ALTERNATE_AUDIO}${trackId}`;

/** The alternate audio track of a rendition; undefined for any other name. */
export const alternateAudioTrack = (rendition: string): string | undefined =>
  rendition.startsWith(ALTERNATE_AUDIO) ? rendition.slice(ALTERNATE_AUDIO.length) : undefined;

/** What an asset has in addition to its constant plan: tracks and files that were added later. */
export interface AdditionalRenditions {
  /**
   * Sizes for files that no variant of the ladder has; frames and boundaries are those of the plan.
   */
  readonly video?: readonly VideoRendition[];
  /** Audio that is not in the source, by the name of its rendition. */
  readonly audio?: ReadonlyMap<string, AlternateAudio>;
}

export interface AlternateAudio {
  readonly audio: AudioPlan;
  /** The blob that it is read from. */
  readonly sourceKey: string;
}

/** `number` counts segments from 0. */
export type SegmentTarget =
  | {
      readonly kind: 'video';
      readonly video: VideoPlan;
      readonly rendition: VideoRendition;
      readonly number: number | 'init';
    }
  | {
      readonly kind: 'audio';
      readonly audio: AudioPlan;
      /** The default is the source of the asset. */
      readonly sourceKey?: string;
      readonly number: number | 'init';
    };

/** Every video rendition in the plan. */
export const listVideo = (video: VideoPlan | undefined): readonly VideoRendition[] =>
  video ? [...video.renditions, ...(video.original ? [video.original] : []), ...(video.av1 ?? [])] : [];

/** The plan for playback with encrypted renditions only; an original can't be encrypted. */
export const withoutOriginal = (plan: Plan): Plan => {
  if (!plan.video?.original) return plan;
  const { original: _, ...video } = plan.video;
  return { ...plan, video };
};

/**
 * What the file `init.mp4` or `<number>.m4s` of a rendition is; undefined when there is no such
 * file.
 */
export const findSegment = (
  { plan: { video, audio }, additional }: { readonly plan: Plan; readonly additional?: AdditionalRenditions },
  name: string,
  file: string,
): SegmentTarget | undefined => {
  const digits = /^(0|[1-9]\d{0,6})\.m4s$/.exec(file)?.[1];
  if (digits === undefined && file !== 'init.mp4') return undefined;
  const number = digits === undefined ? 'init' : Number(digits);
  const inside = ({ boundaries }: VideoPlan | AudioPlan) => number === 'init' || number < boundaries.length - 1;
  if (name === AUDIO_RENDITION) return audio && inside(audio) ? { kind: 'audio', audio, number } : undefined;
  const added = additional?.audio?.get(name);
  if (added) return inside(added.audio) ? { kind: 'audio', ...added, number } : undefined;
  const rendition = [...listVideo(video), ...(additional?.video ?? [])].find((candidate) => candidate.name === name);
  return video && rendition && inside(video) ? { kind: 'video', video, rendition, number } : undefined;
};
