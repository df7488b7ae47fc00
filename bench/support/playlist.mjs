// Just enough of RFC 8216 to play what Kinora lists.

const attribute = (line, name) =>
  new RegExp(`[:,]${name}=("([^"]*)"|[^,]*)`).exec(line)?.slice(1).reverse().find(Boolean);

/**
 * Renditions, largest first, and the playlist of the audio, as paths. `listed` is the order of the
 * playlist.
 */
export const readMultivariant = async (server, playbackId) => {
  const path = `/${playbackId}.m3u8`;
  const lines = String(await server.get(path)).split('\n');
  const absolute = (uri) => new URL(uri, server.url + path).pathname;
  const listed = lines.flatMap((line, i) => {
    if (!line.startsWith('#EXT-X-STREAM-INF')) return [];
    const [width, height] = attribute(line, 'RESOLUTION').split('x').map(Number);
    return [{ width, height, bandwidth: Number(attribute(line, 'BANDWIDTH')), path: absolute(lines[i + 1]) }];
  });
  const media = lines.find((line) => line.startsWith('#EXT-X-MEDIA:') && line.includes('TYPE=AUDIO'));
  const audio = media && { path: absolute(attribute(media, 'URI')) };
  return { listed, videos: [...listed].sort((a, b) => b.height - a.height), audio };
};

/** Init segment and segments of one rendition. */
export const readMedia = async (server, { path }) => {
  const lines = String(await server.get(path)).split('\n');
  const absolute = (uri) => new URL(uri, server.url + path).pathname;
  const segments = lines.flatMap((line, i) =>
    line.startsWith('#EXTINF:') ? [{ seconds: Number.parseFloat(line.slice(8)), path: absolute(lines[i + 1]) }] : [],
  );
  let start = 0;
  for (const segment of segments) {
    segment.start = start;
    start += segment.seconds;
  }
  return {
    init: absolute(
      attribute(
        lines.find((line) => line.startsWith('#EXT-X-MAP')),
        'URI',
      ),
    ),
    segments,
  };
};

/** The segments of a playlist as paths with their query, which contains the access token. */
export const listSegments = async (server, playlist) => {
  const lines = String(await server.get(playlist.href)).split('\n');
  return lines
    .filter((line) => line && !line.startsWith('#'))
    .map((line) => {
      const { pathname, search } = new URL(line, playlist);
      return pathname + search;
    });
};
