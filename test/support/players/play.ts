import { createHash } from 'node:crypto';

/** Addresses in a playlist: lines that are no tags, and the `URI` of tags. */
const addressesIn = (playlist: string, base: string): string[] =>
  playlist
    .split('\n')
    .map((line) => (line.startsWith('#') ? /(?<!chapters",)URI="([^"]+)"/.exec(line)?.[1] : line))
    .filter((address): address is string => address !== undefined && address !== '')
    .map((address) => new URL(address, base).href);

/** @throws when the answer is no success */
export const fetchBytes = async (url: string): Promise<Buffer> => {
  const response = await fetch(url);
  const bytes = Buffer.from(await response.arrayBuffer());
  if (!response.ok) throw new Error(`${response.status} ${url}: ${bytes.subarray(0, 200)}`);
  return bytes;
};

const fetchText = async (url: string): Promise<string> => (await fetchBytes(url)).toString('utf8');

/** Addresses of every media playlist of a playback id, without repetition. */
export const mediaPlaylists = async (serverUrl: string, playbackId: string): Promise<string[]> => {
  const master = `${serverUrl}/${playbackId}.m3u8`;
  return [...new Set(addressesIn(await fetchText(master), master))];
};

/** Addresses of the files of a media playlist in order: its init segment first. */
export const segmentsOf = async (playlistUrl: string): Promise<string[]> => [
  ...new Set(addressesIn(await fetchText(playlistUrl), playlistUrl)),
];

const heightOf = (playlist: string): number | undefined => {
  const height = /\/(\d+)p[^/]*\/[^/]*$/.exec(playlist)?.[1];
  return height === undefined ? undefined : Number(height);
};

export const isVideoPlaylist = (playlist: string): boolean => heightOf(playlist) !== undefined;

/** Leaves out every video rendition but the lowest. */
export const lowestOnly = (playlists: readonly string[]): string[] => {
  const lowest = Math.min(...playlists.map((playlist) => heightOf(playlist) ?? Number.POSITIVE_INFINITY));
  return playlists.filter((playlist) => (heightOf(playlist) ?? lowest) === lowest);
};

/**
 * Plays everything, or what `choose` leaves: the digest of each file by its path below the playback
 * id.
 */
export const playAll = async (
  serverUrl: string,
  playbackId: string,
  choose = (playlists: readonly string[]): readonly string[] => playlists,
): Promise<Record<string, string>> => {
  const digests: Record<string, string> = {};
  for (const playlist of choose(await mediaPlaylists(serverUrl, playbackId))) {
    for (const url of await segmentsOf(playlist)) {
      const path = new URL(url).pathname.replace(`/${playbackId}/`, '');
      digests[path] = createHash('sha256')
        .update(await fetchBytes(url))
        .digest('hex');
    }
  }
  return digests;
};

/**
 * Every file below a multivariant playlist in order, by its own address, with the digest of its
 * bytes.
 */
export const playTree = async (master: string): Promise<{ url: string; digest: string }[]> => {
  const played: { url: string; digest: string }[] = [];
  for (const playlist of new Set(addressesIn(await fetchText(master), master))) {
    for (const url of await segmentsOf(playlist)) {
      const digest = createHash('sha256')
        .update(await fetchBytes(url))
        .digest('hex');
      played.push({ url, digest });
    }
  }
  return played;
};
