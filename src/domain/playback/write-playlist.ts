import { KinoraError } from '../../lib/errors.js';
import {
  type AdditionalRenditions,
  AUDIO_RENDITION,
  alternateAudioRendition,
  listVideo,
} from '../../media/plan/find-segment.js';
import { GENERATION } from '../../media/plan/generation.js';
import type { Plan } from '../../media/plan/plan.js';
import { gridOf, segmentSeconds } from '../../media/plan/segment-times.js';
import { mediaPlaylist, multivariantPlaylist } from '../../media/playlist/hls.js';
import type { AudioFigures, HlsAudioTrack, HlsChild, HlsTextTrack } from '../../media/playlist/multivariant.js';
import {
  findSegmentWindow,
  type PlaybackModifiers,
  parsePlaybackModifiers,
  type SegmentWindow,
} from '../../media/playlist/playback-modifiers.js';
import type { KeyTags } from '../drm/key-tags.js';
import { withoutDrafts } from '../tracks/text-source.js';
import type { Access } from './access-check.js';
import type { Playable } from './playable-finder.js';

/** A playback id whose asset can be played. */
export type ReadyPlayable = Playable & { readonly plan: Plan };

/**
 * The multivariant playlist of a playback ID. `base` precedes
 * `<generation>/<rendition>/playlist.m3u8` and is relative to the requested URL. Each child URL
 * contains what opens it and nothing else. Players fetch chapters without a token from `origin`,
 * the absolute base of playback URLs. `tags` are those of a DRM playback ID.
 * @throws KinoraError `invalid_parameters`
 */
export const writeMultivariantPlaylist = (
  playable: ReadyPlayable,
  access: Access,
  base: string,
  origin: string | undefined,
  tags?: KeyTags,
): string => {
  const { plan, meta, listsAv1 } = playable;
  const modifiers = readModifiers(playable, access);
  // While the asset plays early it has no previews.
  const rokuTrickPlay = modifiers.rokuTrickPlay && !playable.early;
  return multivariantPlaylist({
    plan,
    title: meta.title,
    ...(origin !== undefined && {
      chaptersUri: `${origin}/${playable.playbackId}/metadata.json${writeQuery([access.childQuery(METADATA_CHILD)])}`,
    }),
    audioTracks: listAudio(playable),
    textTracks: listText(playable),
    modifiers: { ...modifiers, rokuTrickPlay },
    listsAv1,
    sessionKeys: tags?.ofSession(plan.video !== undefined),
    uri: (child) => {
      const segments = child.window && `${child.window.first}-${child.window.end}`;
      const rendition = childName(child);
      const signature = access.childQuery(renditionChild(GENERATION, rendition, segments));
      const query = writeQuery([segments && `segments=${segments}`, child.redundant && 'redundant=1', signature]);
      return `${base}${GENERATION}/${rendition}/playlist.m3u8${query}`;
    },
  });
};

/** @throws KinoraError `invalid_parameters` */
export const readModifiers = (
  { plan, recordedSessions }: ReadyPlayable,
  { modifiers: values, maxLines }: Access,
): PlaybackModifiers => {
  const modifiers = parsePlaybackModifiers(values, plan.durationSeconds, recordedSessions);
  if ('invalid' in modifiers) throw new KinoraError('invalid_parameters', { messages: [modifiers.invalid] });
  return withMaxLines(modifiers, maxLines);
};

/** Lists nothing with more lines, and the lowest rendition in any case. */
export const withMaxLines = (modifiers: PlaybackModifiers, maxLines: number | undefined): PlaybackModifiers =>
  maxLines === undefined
    ? modifiers
    : { ...modifiers, maxResolution: Math.min(maxLines, modifiers.maxResolution ?? maxLines) };

/** The primary one first. Tracks get their names when the asset is ready. */
export const listAudio = ({ plan, tracks, early }: ReadyPlayable): HlsAudioTrack[] => {
  if (early && plan.audio)
    return [{ rendition: AUDIO_RENDITION, name: 'Default', languageCode: 'und', primary: true, audio: plan.audio }];
  return tracks
    .flatMap((track) => {
      const audio = (track.audio as AudioFigures | null) ?? plan.audio;
      if (track.type !== 'audio' || !audio) return [];
      return {
        rendition: track.audio ? alternateAudioRendition(track.id) : AUDIO_RENDITION,
        name: track.name ?? 'Default',
        languageCode: track.language_code ?? 'und',
        primary: track.is_primary,
        audio,
      };
    })
    .sort((a, b) => Number(b.primary) - Number(a.primary));
};

/** The child (see `Access.childQuery`) of `metadata.json`. */
export const METADATA_CHILD = 'metadata.json';
/** The name of the preview frames in URLs, which must differ from the names of the renditions. */
export const IMAGES_RENDITION = 'images';

export const listText = ({ tracks }: ReadyPlayable): HlsTextTrack[] =>
  withoutDrafts(tracks)
    .filter(({ type }) => type === 'text')
    .map((track) => ({
      id: track.id,
      name: track.name ?? 'und',
      languageCode: track.language_code ?? 'und',
      closedCaptions: track.closed_captions ?? false,
    }));

/** The prefix of a text track's rendition in URLs. */
const TEXT_RENDITION = 'text-';

/** The track whose rendition has this name; undefined when it is not a text rendition. */
export const textRenditionTrack = (rendition: string): string | undefined =>
  rendition.startsWith(TEXT_RENDITION) ? rendition.slice(TEXT_RENDITION.length) : undefined;

/** The name of a child in addresses. */
export const childName = (child: HlsChild): string => {
  if (child.kind === 'text') return `${TEXT_RENDITION}${child.trackId}`;
  if (child.kind === 'images') return IMAGES_RENDITION;
  return child.rendition;
};

export const writeQuery = (parts: readonly (string | boolean | undefined)[]): string => {
  const present = parts.filter(Boolean);
  return present.length > 0 ? `?${present.join('&')}` : '';
};

/**
 * The child (see `Access.childQuery`) for the playlist and the segments of one rendition. A viewer
 * who may access one rendition can't make the URL of another, or of segments outside an instant
 * clip.
 */
export const renditionChild = (version: number | string, rendition: string, segments: string | undefined): string =>
  `${version}/${rendition}/${segments ?? ''}`;

/**
 * The playlist of one rendition. `segments` is the query value that the multivariant playlist wrote
 * for an instant clip; `tags` are those of a DRM playback ID. Undefined when neither the plan nor
 * the tracks have such a rendition.
 * @throws KinoraError `invalid_parameters`
 */
export const writeMediaPlaylist = (
  plan: Plan,
  additional: AdditionalRenditions | undefined,
  access: Access,
  rendition: string,
  segments: string | undefined,
  tags?: KeyTags,
): string | undefined => {
  const isVideo = listVideo(plan.video).some(({ name }) => name === rendition);
  const audio = rendition === AUDIO_RENDITION ? plan.audio : additional?.audio?.get(rendition)?.audio;
  const part = isVideo ? plan.video : audio;
  if (!part) return undefined;
  const window = parseWindow(segments);
  const query = segmentQuery(access, renditionChild(GENERATION, rendition, segments), segments);
  return mediaPlaylist({
    part,
    grid: gridOf(plan)!,
    grows: plan.grows === true,
    leastTargetSeconds: plan.leastTargetSeconds,
    window,
    keys: tags?.ofTrack(isVideo ? 'video' : 'audio'),
    initUri: `init.mp4${query}`,
    segmentUri: (number) => `${number}.m4s${query}`,
  });
};

/** A public segment has one URL, whichever clip it is part of, so that caches store it once. */
const segmentQuery = (access: Access, child: string, segments: string | undefined): string => {
  const signature = access.childQuery(child);
  return signature ? writeQuery([segments && `segments=${segments}`, signature]) : '';
};

/**
 * The playlist of a text track's rendition, cut like the media; `segments` as in
 * `writeMediaPlaylist`.
 */
export const writeTextPlaylist = (
  plan: Plan,
  access: Access,
  trackId: string,
  segments: string | undefined,
): string => {
  const window = parseWindow(segments);
  const query = segmentQuery(access, renditionChild(GENERATION, `${TEXT_RENDITION}${trackId}`, segments), segments);
  const grid = gridOf(plan)!;
  return mediaPlaylist({
    part: grid,
    grid,
    leastTargetSeconds: plan.leastTargetSeconds,
    window,
    segmentUri: (number) => `${number}.vtt${query}`,
  });
};

/**
 * The times of the instant clip that the viewer requested or is limited to; undefined for the whole
 * asset.
 */
export const clipTimes = (
  playable: ReadyPlayable,
  access: Access,
): { readonly startSeconds: number; readonly endSeconds: number } | undefined =>
  windowTimes(playable.plan, findSegmentWindow(playable.plan, readModifiers(playable, access)));

/** The times of segments; undefined where there is no window. */
export const windowTimes = (
  plan: Plan,
  window: SegmentWindow | undefined,
): { readonly startSeconds: number; readonly endSeconds: number } | undefined => {
  const first = window && segmentSeconds(plan, window.first);
  const last = window && segmentSeconds(plan, window.end - 1);
  return first && last && { startSeconds: first.startSeconds, endSeconds: last.endSeconds };
};

/**
 * Whether `<number>.m4s` or `.vtt` belongs to the instant clip in `segments`; true for every file
 * without a clip.
 */
export const isInClip = (file: string, segments: string | undefined): boolean => {
  const window = parseWindow(segments);
  const number = /^(\d+)\.(?:m4s|vtt)$/.exec(file)?.[1];
  return !window || number === undefined || (Number(number) >= window.first && Number(number) < window.end);
};

/** @throws KinoraError `invalid_parameters` */
export const parseWindow = (segments: string | undefined): SegmentWindow | undefined => {
  if (!segments) return undefined;
  const [, first, end] = /^(\d{1,7})-(\d{1,7})$/.exec(segments) ?? [];
  if (first === undefined || Number(first) >= Number(end)) {
    throw new KinoraError('invalid_parameters', { messages: ['Invalid parameter: segments'] });
  }
  return { first: Number(first), end: Number(end) };
};
