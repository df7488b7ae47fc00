import type { PlayableFinder } from '../../domain/playback/playable-finder.js';
import { LIVE_VERSION } from '../../domain/playback/write-live-playlist.js';
import { renditionChild, textRenditionTrack } from '../../domain/playback/write-playlist.js';
import { KinoraError } from '../../lib/errors.js';
import { lastOf } from '../../lib/last-of.js';
import { GENERATION } from '../../media/plan/generation.js';
import type { TextTracks } from '../../packager/text-tracks.js';
import type { LiveEncryption } from './live-encryption.js';
import type { LivePlaylists } from './live-playlists.js';
import type { LiveSegments } from './live-segments.js';
import type { PlaybackOpener } from './playback-opener.js';
import type { Playlists } from './playlists.js';
import type { SegmentSender } from './segment-sender.js';
import { sendTextRendition } from './send-text-track.js';
import type { ViewerRoute } from './viewer-routes.js';

interface SegmentRouteDeps {
  readonly opener: PlaybackOpener;
  readonly playables: Pick<PlayableFinder, 'findAdditional'>;
  readonly playlists: Playlists;
  readonly texts: TextTracks;
  readonly sender: SegmentSender;
  readonly livePlaylists: LivePlaylists;
  readonly liveEncryption: LiveEncryption;
  readonly liveSegments: LiveSegments;
}

interface Params {
  readonly playbackId: string;
  readonly plan: string;
  readonly rendition: string;
  readonly file: string;
}

/** What playlists refer to: the playlists of renditions, and their segments. */
export const segmentRoutes = (route: ViewerRoute, deps: SegmentRouteDeps): void => {
  const { opener, playables, playlists, texts, sender, livePlaylists, liveSegments, liveEncryption } = deps;
  route<Omit<Params, 'plan'>>(`/:playbackId/${LIVE_VERSION}/:rendition/:file`, async (request, reply) => {
    const { playbackId, rendition, file } = request.params;
    const clip = lastOf(request.query.clip);
    const child = renditionChild(LIVE_VERSION, rendition, clip);
    const opened = await liveEncryption.open(request, await opener.openLiveChild(request, reply, playbackId, child));
    return file === 'playlist.m3u8'
      ? livePlaylists.sendMedia(request, reply, opened, rendition, clip)
      : liveSegments.send(request, reply, opened, { rendition, file, clip });
  });

  route<Params>('/:playbackId/:plan/:rendition/:file', async (request, reply) => {
    const { playbackId, plan: version, rendition, file } = request.params;
    const clip = lastOf(request.query.segments);
    const opened = await opener.openChild(request, reply, playbackId, renditionChild(version, rendition, clip));
    if (version !== String(GENERATION)) throw new KinoraError('not_found');
    const trackId = textRenditionTrack(rendition);
    if (trackId !== undefined) return sendTextRendition(request, reply, texts, opened, { trackId, file, clip });
    const additional = await playables.findAdditional(opened.playable, rendition);
    return file === 'playlist.m3u8'
      ? playlists.sendMedia(request, reply, opened, { rendition, clip }, additional)
      : sender.send(request, reply, opened, { rendition, file, clip }, additional);
  });
};
