import { lastOf } from '../../lib/last-of.js';
import type { Query } from './viewer-routes.js';

/** Tokens in the page's URL, named like the attributes of the original player. */
const PLAYBACK_TOKEN = 'playback-token';
const THUMBNAIL_TOKEN = 'thumbnail-token';
const STORYBOARD_TOKEN = 'storyboard-token';
const LICENSE_TOKEN = 'drm-token';

/** Parameters of the page that playlists do not have. */
const OF_PAGE = new Set([
  PLAYBACK_TOKEN,
  THUMBNAIL_TOKEN,
  STORYBOARD_TOKEN,
  LICENSE_TOKEN,
  'token',
  't',
  'autoplay',
  'muted',
  'loop',
  'poster',
  'tracking',
]);

export interface PageTokens {
  readonly playback: string | undefined;
  readonly thumbnail: string | undefined;
  readonly storyboard: string | undefined;
  readonly license: string | undefined;
}

/** `token` has priority over `playback-token`. */
export const pageTokens = (query: Query): PageTokens => ({
  playback: lastOf(query.token) || lastOf(query[PLAYBACK_TOKEN]),
  thumbnail: lastOf(query[THUMBNAIL_TOKEN]),
  storyboard: lastOf(query[STORYBOARD_TOKEN]),
  license: lastOf(query[LICENSE_TOKEN]),
});

/**
 * The query of a page's URL for its playlist, as it was written, without what is meant for the
 * page.
 */
export const playlistQuery = (url: string, token: string | undefined): string => {
  const parts = url.includes('?') ? url.slice(url.indexOf('?') + 1).split('&') : [];
  const others = parts.filter((part) => part !== '' && !OF_PAGE.has(part.split('=')[0]!));
  const all = [...others, ...(token ? [`token=${encodeURIComponent(token)}`] : [])];
  return all.length > 0 ? `?${all.join('&')}` : '';
};

/** A URL with the given parameters; those without a value are left out. */
export const withQuery = (url: string, parameters: Readonly<Record<string, string | undefined>>): string => {
  const setEntries = Object.entries(parameters).filter((entry): entry is [string, string] => !!entry[1]);
  return setEntries.length > 0 ? `${url}?${new URLSearchParams(setEntries)}` : url;
};

/**
 * The image that `?poster=` names, as a path of this server. Undefined for another server's: the
 * page's policy forbids to load it, so that a link to a video can't make its viewers known to
 * others.
 */
export const ownPoster = (poster: string | undefined, origin: string): string | undefined => {
  if (!poster || !URL.canParse(origin) || !URL.canParse(poster, origin)) return undefined;
  const url = new URL(poster, origin);
  // As a reference, a path that begins with two slashes would name another host.
  const isOwn = url.host === new URL(origin).host && !url.pathname.startsWith('//');
  return isOwn ? url.pathname + url.search : undefined;
};
