import { fitInto, planRung, type Size, type VideoQuality } from './ladder.js';
import type { Plan, VideoPlan, VideoRendition } from './plan.js';

/** The names under which a static rendition can be requested. */
export type RenditionResolution = 'highest' | 'audio-only' | `${2160 | 1440 | 1080 | 720 | 540 | 480 | 360 | 270}p`;

/** Stored frames have the size of the top rung. */
export const renditionSource = ({ video, audio }: Plan): RenditionSource => ({
  frame: video?.renditions.at(-1),
  hasAudio: audio !== undefined,
});

/** Properties of an asset: the stored frame size (limited by its tier) and whether it has audio. */
export interface RenditionSource {
  readonly frame?: Size | undefined;
  readonly hasAudio: boolean;
}

/** A downloadable file to produce. */
export interface RenditionFile {
  readonly name: string;
  readonly ext: 'mp4' | 'm4a';
  /** Frame size; absent for audio alone. */
  readonly size?: Size;
}

export const renditionFileName = (resolution: RenditionResolution): Pick<RenditionFile, 'name' | 'ext'> =>
  resolution === 'audio-only' ? { name: 'audio.m4a', ext: 'm4a' } : { name: `${resolution}.mp4`, ext: 'mp4' };

/**
 * The file for a requested rendition; undefined when it is skipped because it needs enlarging or
 * lacks the stream.
 */
export const planRendition = (resolution: RenditionResolution, source: RenditionSource): RenditionFile | undefined => {
  const file = renditionFileName(resolution);
  if (resolution === 'audio-only') return source.hasAudio ? file : undefined;
  if (!source.frame) return undefined;
  if (resolution === 'highest') return { ...file, size: source.frame };
  const box = boxOf(Number.parseInt(resolution, 10), source.frame);
  const { width, height } = source.frame;
  return width < box.width && height < box.height
    ? undefined
    : { ...file, size: fitInto(source.frame, landscapeBox(Number.parseInt(resolution, 10))) };
};

export type Mp4Support = 'none' | 'capped-1080p' | 'audio-only' | 'audio-only,capped-1080p' | 'standard';

/** The files of the deprecated `mp4_support`; undefined when they can't be made from this asset. */
export const planMp4Support = (
  support: Mp4Support,
  { frame, hasAudio }: RenditionSource,
): RenditionFile[] | undefined => {
  const audio = { name: 'audio.m4a', ext: 'm4a' } as const;
  const video = (name: string, lines: number): RenditionFile => ({
    name,
    ext: 'mp4',
    size: fitInto(frame!, landscapeBox(lines)),
  });
  const exceeds = (lines: number): boolean => {
    const box = boxOf(lines, frame!);
    return frame!.width > box.width || frame!.height > box.height;
  };
  if (support === 'none') return [];
  if (support === 'audio-only') return hasAudio ? [audio] : undefined;
  if (!frame) return [audio];
  if (support === 'standard') {
    return [
      video('low.mp4', 360),
      ...(exceeds(360) ? [video('medium.mp4', 540)] : []),
      ...(exceeds(540) ? [video('high.mp4', 1080)] : []),
    ];
  }
  const capped = video('capped-1080p.mp4', 1080);
  return support === 'capped-1080p' || !hasAudio ? [capped] : [capped, audio];
};

/** A rung within this difference has the same size, which was rounded once instead of twice. */
const SAME_SIZE_PIXELS = 2;

/**
 * The rendition that provides the frames of a file: the rung of that size, whose segments may
 * already be cached, or else a new one between its neighbors.
 */
export const chooseVideoRendition = (video: VideoPlan, size: Size, quality: VideoQuality): VideoRendition => {
  const isSame = ({ width, height }: Size): boolean =>
    Math.abs(width - size.width) <= SAME_SIZE_PIXELS && Math.abs(height - size.height) <= SAME_SIZE_PIXELS;
  return video.renditions.find(isSame) ?? planRung(video, size, quality);
};

/** 16:9 with the given number of lines. */
const landscapeBox = (lines: number): Size => ({ width: (lines * 16) / 9, height: lines });

/** Rotated for portrait. */
const boxOf = (lines: number, frame: Size): Size => {
  const { width, height } = landscapeBox(lines);
  return frame.height > frame.width ? { width: height, height: width } : { width, height };
};
