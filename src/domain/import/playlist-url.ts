const PREFIX = 'hls+';

/**
 * Marks a URL as that of a media playlist whose segments are one file. Requests of the API can't
 * contain this form, so their URLs always name files.
 */
export const playlistUrl = (url: string): string => `${PREFIX}${url}`;

/** The URL of the media playlist; undefined for the URL of a file. */
export const mediaPlaylistOf = (url: string): string | undefined =>
  url.startsWith(PREFIX) ? url.slice(PREFIX.length) : undefined;
