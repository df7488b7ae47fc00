import type { LiveEncryption } from './live-encryption.js';
import type { LivePlaylists } from './live-playlists.js';
import { isLive, type PlaybackOpener } from './playback-opener.js';
import { acceptsHtml, type PlayerPage } from './player-page.js';
import type { Playlists } from './playlists.js';
import type { ViewerRoute } from './viewer-routes.js';

interface PlaylistRouteDeps {
  readonly opener: PlaybackOpener;
  readonly playlists: Playlists;
  readonly livePlaylists: LivePlaylists;
  readonly liveEncryption: LiveEncryption;
  readonly page: PlayerPage;
}

const HLS_ENDING = '.m3u8';
const DASH_ENDING = '.mpd';

/**
 * The URLs that players and browsers are given: `<id>.m3u8`, `<id>.mpd`, and the bare ID for both.
 */
export const playlistRoutes = (
  route: ViewerRoute,
  { opener, playlists, livePlaylists, liveEncryption, page }: PlaylistRouteDeps,
): void => {
  route<{ name: string }>('/:name', async (request, reply) => {
    const { name } = request.params;
    if (name.endsWith(DASH_ENDING)) {
      const opened = await opener.open(request, reply, name.slice(0, -DASH_ENDING.length), 'v');
      return playlists.sendManifest(request, reply, opened);
    }
    const isBare = !name.endsWith(HLS_ENDING);
    const playbackId = isBare ? name : name.slice(0, -HLS_ENDING.length);
    if (isBare) reply.header('vary', 'Accept');
    if (isBare && acceptsHtml(request.headers.accept)) return page.send(request, reply, playbackId);
    const opened = await opener.openAny(request, reply, playbackId, 'v');
    return isLive(opened)
      ? livePlaylists.sendMultivariant(request, reply, await liveEncryption.open(request, opened))
      : playlists.sendMultivariant(request, reply, opened);
  });
};
