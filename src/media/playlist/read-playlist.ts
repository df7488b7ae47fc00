/**
 * Reads what other servers write: the few tags (RFC 8216) that lead from a playlist to the bytes of
 * its audio.
 */

/** The segments of a playlist, which together are one file. */
export interface PlaylistFile {
  /** In order, the initialization section first; absolute. */
  readonly urls: readonly string[];
}

const ATTRIBUTE = /([A-Z0-9-]+)=("[^"]*"|[^,]*)/g;

const attributesOf = (line: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...line.slice(line.indexOf(':') + 1).matchAll(ATTRIBUTE)].map(([, name, value]) => [
      name!,
      value!.replace(/^"|"$/g, ''),
    ]),
  );

const linesOf = (text: string): string[] =>
  text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');

/** An audio rendition of a multivariant playlist. */
export interface AudioRendition {
  readonly name: string;
  readonly language: string | undefined;
  /** Absolute. */
  readonly url: string;
}

/** The audio renditions with playlists of their own. */
export const readAudioRenditions = (text: string, baseUrl: string): AudioRendition[] =>
  linesOf(text)
    .filter((line) => line.startsWith('#EXT-X-MEDIA:'))
    .map(attributesOf)
    .flatMap(({ TYPE, NAME, LANGUAGE, URI }) =>
      TYPE === 'AUDIO' && URI !== undefined && URL.canParse(URI, baseUrl)
        ? [{ name: NAME ?? '', language: LANGUAGE, url: new URL(URI, baseUrl).href }]
        : [],
    );

/**
 * What must be downloaded, in this order, to have the media of a complete media playlist in one
 * file. The result is a sentence if that is not possible.
 */
export const readMediaPlaylist = (text: string, baseUrl: string): PlaylistFile | string => {
  const lines = linesOf(text);
  if (lines[0] !== '#EXTM3U') return 'The address does not lead to an HLS playlist.';
  if (!lines.includes('#EXT-X-ENDLIST')) return 'The HLS playlist is not complete.';
  const urls: string[] = [];
  let initialization: string | undefined;
  for (const line of lines) {
    if (line.startsWith('#EXT-X-KEY:') && attributesOf(line).METHOD !== 'NONE') return 'The HLS playlist is encrypted.';
    if (line.startsWith('#EXT-X-BYTERANGE:')) return 'The HLS playlist has byte ranges, which are not supported.';
    const uri = line.startsWith('#EXT-X-MAP:') ? attributesOf(line).URI : line.startsWith('#') ? undefined : line;
    if (uri === undefined) continue;
    if (!URL.canParse(uri, baseUrl)) return 'The HLS playlist has an invalid address.';
    const { href } = new URL(uri, baseUrl);
    if (line.startsWith('#') && initialization !== undefined && initialization !== href)
      return 'The HLS playlist has several initialization sections, which are not supported.';
    if (line.startsWith('#') && initialization === href) continue;
    if (line.startsWith('#')) initialization = href;
    urls.push(href);
  }
  return urls.length > (initialization === undefined ? 0 : 1) ? { urls } : 'The HLS playlist has no segments.';
};
