import { KinoraError } from '../../lib/errors.js';
import { AUDIO_RENDITION } from '../../media/find-segment.js';
import { type HlsChild, mediaPlaylist, multivariantPlaylist } from '../../media/hls.js';
import type { Plan } from '../../media/plan.js';
import { parsePlaybackModifiers, type SegmentWindow } from '../../media/playback-modifiers.js';
import type { Playable } from './find-playable.js';

/** A playback id whose asset can be played. */
export type ReadyPlayable = Playable & { readonly plan: Plan };

/**
 * The multivariant playlist of a playback id. `base` comes before `<plan version>/<rendition>/playlist.m3u8` and is relative
 * to the address that was asked for.
 * @throws KinoraError `invalid_parameters`
 */
export const writeMultivariantPlaylist = (
  playable: ReadyPlayable,
  query: Readonly<Record<string, unknown>>,
  base: string,
): string => {
  const { plan, meta, tracks } = playable;
  const modifiers = parsePlaybackModifiers(query, plan.durationSeconds);
  if ('invalid' in modifiers) throw new KinoraError('invalid_parameters', { messages: [modifiers.invalid] });
  const primary = tracks.filter(({ type, is_primary }) => type === 'audio' && is_primary);
  return multivariantPlaylist({
    plan,
    ...(meta.title !== undefined && { title: meta.title }),
    audioTracks: primary.map((track) => ({
      id: track.id,
      name: track.name ?? 'Default',
      languageCode: track.language_code ?? 'und',
      primary: true,
      channels: plan.audio?.channels ?? 2,
    })),
    textTracks: [],
    modifiers,
    uri: (child) => `${base}${plan.version}/${childName(child)}/playlist.m3u8${childQuery(child)}`,
  });
};

const childName = (child: HlsChild): string => (child.kind === 'video' ? child.rendition : AUDIO_RENDITION);

const childQuery = ({ window, redundant }: HlsChild): string => {
  const parts = [window && `segments=${window.first}-${window.end}`, redundant && 'redundant=1'].filter(Boolean);
  return parts.length > 0 ? `?${parts.join('&')}` : '';
};

/**
 * The playlist of one rendition; `segments` is the query value that the multivariant playlist wrote for an instant clip.
 * Undefined when the plan has no such rendition.
 * @throws KinoraError `invalid_parameters`
 */
export const writeMediaPlaylist = (plan: Plan, rendition: string, segments: unknown): string | undefined => {
  const kind = rendition === AUDIO_RENDITION ? 'audio' : 'video';
  const known =
    kind === 'audio' ? plan.audio : plan.video?.renditions.some((candidate) => candidate.name === rendition);
  if (!known) return undefined;
  const window = parseWindow(segments);
  return mediaPlaylist({
    plan,
    kind,
    ...(window && { window }),
    initUri: 'init.mp4',
    segmentUri: (number) => `${number}.m4s`,
  });
};

const parseWindow = (segments: unknown): SegmentWindow | undefined => {
  if (segments === undefined || segments === '') return undefined;
  const [, first, end] = (typeof segments === 'string' && /^(\d{1,7})-(\d{1,7})$/.exec(segments)) || [];
  if (first === undefined || Number(first) >= Number(end)) {
    throw new KinoraError('invalid_parameters', { messages: ['Invalid parameter: segments'] });
  }
  return { first: Number(first), end: Number(end) };
};
