import { KinoraError } from '../../lib/errors.js';
import type { LiveTrackState } from '../../media/live/live-track.js';
import { type LivePlaylistInput, liveMediaPlaylist, liveMultivariantPlaylist } from '../../media/playlist/live-hls.js';
import { clipOf, findWindow, type LiveRange, readClip, writeClip } from '../../media/playlist/live-range.js';
import { parsePlaybackModifiers } from '../../media/playlist/playback-modifiers.js';
import type { KeyTags } from '../drm/key-tags.js';
import type { Access } from './access-check.js';
import type { LiveFeed } from './live-feed.js';
import type { Playable } from './playable-finder.js';
import { childName, renditionChild, withMaxLines, writeQuery } from './write-playlist.js';

/** A playback ID whose broadcast can be played. */
export type LivePlayable = Playable & { readonly live: LiveFeed };

/** In URLs, in place of the generation of a plan. */
export const LIVE_VERSION = 'live';

/**
 * The multivariant playlist of a broadcast; `base` and `tags` are as in
 * `writeMultivariantPlaylist`.
 * @throws KinoraError `invalid_parameters`
 */
export const writeLiveMultivariant = (
  { live, meta }: LivePlayable,
  access: Access,
  base: string,
  tags?: KeyTags,
): string => {
  const parsed = parsePlaybackModifiers(access.modifiers, Number.POSITIVE_INFINITY, 'live');
  if ('invalid' in parsed) throw new KinoraError('invalid_parameters', { messages: [parsed.invalid] });
  const modifiers = withMaxLines(parsed, access.maxLines);
  const range = clipOf(modifiers);
  const clip = range && writeClip(range);
  const tracks = tracksOf(live);
  return liveMultivariantPlaylist({
    tracks,
    sessionKeys: tags?.ofSession(tracks.some(({ info }) => info.kind === 'video')),
    ...(meta.title !== undefined && { title: meta.title }),
    captions: live.captions,
    textTracks: live.subtitles ? [{ id: live.subtitles.trackId, ...live.subtitles, closedCaptions: false }] : [],
    modifiers,
    uri: (child) => {
      const rendition = childName(child);
      const signature = access.childQuery(renditionChild(LIVE_VERSION, rendition, clip));
      const query = writeQuery([clip && `clip=${clip}`, child.redundant && 'redundant=1', signature]);
      return `${base}${LIVE_VERSION}/${rendition}/playlist.m3u8${query}`;
    },
  });
};

const tracksOf = (live: LiveFeed): LiveTrackState[] => live.trackNames.flatMap((name) => live.track(name) ?? []);

/**
 * What a playback ID shows of its broadcast. `clip` is the query value that the multivariant
 * playlist wrote.
 * @throws KinoraError `invalid_parameters`
 */
export const liveRange = ({ liveStreamId }: Playable, clip: string | undefined): LiveRange => {
  if (!clip) return liveStreamId === undefined ? 'event' : 'window';
  const range = readClip(clip);
  if (!range) throw new KinoraError('invalid_parameters', { messages: ['Invalid parameter: clip'] });
  return range;
};

/** Follows the names of files. Public ones have one URL each, whichever playlist they are in. */
export const liveQuery = (access: Access, rendition: string, clip: string | undefined): string => {
  const signature = access.childQuery(renditionChild(LIVE_VERSION, rendition, clip));
  return signature ? writeQuery([clip && `clip=${clip}`, signature]) : '';
};

/**
 * The playlist of one track as it is; undefined when nothing of the range has happened yet. Reports
 * of other renditions have no query: players compare the path, and a signature for them would also
 * open those that a token excludes. `keys` are attributes of each `EXT-X-KEY`.
 */
export const writeLivePlaylist = (
  live: LiveFeed,
  state: LiveTrackState,
  options: Pick<LivePlaylistInput, 'range' | 'skip' | 'query' | 'keys'>,
): string | undefined =>
  liveMediaPlaylist({
    ...options,
    state,
    times: live.times,
    firstDiscontinuity: live.firstDiscontinuity,
    others: tracksOf(live)
      .filter(({ info }) => info.name !== state.info.name)
      .map((other) => ({ uri: `../${other.info.name}/playlist.m3u8`, state: other })),
  });

/** Whether no segment of the range follows. */
export const isRangeOver = (live: LiveFeed, state: LiveTrackState, range: LiveRange): boolean =>
  findWindow(state, range, live.times).isComplete;

/** Whether a segment belongs to a clip. */
export const isInLiveClip = (live: LiveFeed, state: LiveTrackState, segment: number, range: LiveRange): boolean => {
  if (range === 'window' || range === 'event') return true;
  const { first, end } = findWindow(state, range, live.times);
  return state.segments.slice(first, end).some(({ number }) => number === segment);
};
