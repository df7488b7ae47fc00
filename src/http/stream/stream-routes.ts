import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import type { ContentKeys } from '../../domain/drm/content-keys.js';
import type { AccessCheck } from '../../domain/playback/access-check.js';
import type { PlayableFinder } from '../../domain/playback/playable-finder.js';
import type { OpenRendition } from '../../domain/renditions/open-rendition.js';
import type { DeliveryCounter } from '../../domain/usage/delivery-counter.js';
import type { SegmentProducer } from '../../packager/segment-producer.js';
import type { TextTracks } from '../../packager/text-tracks.js';
import type { Logger } from '../../telemetry/logger.js';
import { fileRoutes } from './file-routes.js';
import { LiveEncryption } from './live-encryption.js';
import { LivePlaylists } from './live-playlists.js';
import { LiveSegments } from './live-segments.js';
import { Oembed } from './oembed.js';
import type { PlaybackOpener } from './playback-opener.js';
import { loadPlayerFiles } from './player-files.js';
import { PlayerPage } from './player-page.js';
import { playlistRoutes } from './playlist-routes.js';
import { Playlists } from './playlists.js';
import { requestedOrigin } from './requested-origin.js';
import { segmentRoutes } from './segment-routes.js';
import { SegmentSender } from './segment-sender.js';
import { acceptViewers } from './viewer-routes.js';

export interface StreamDeps {
  readonly opener: PlaybackOpener;
  readonly playables: Pick<PlayableFinder, 'find' | 'findAdditional'>;
  readonly access: Pick<AccessCheck, 'check'>;
  readonly producer: SegmentProducer;
  readonly texts: TextTracks;
  readonly openRendition: OpenRendition;
  readonly deliveries: Pick<DeliveryCounter, 'count'>;
  readonly contentKeys: Pick<ContentKeys, 'get'>;
  readonly logger: Logger;
  /** The base of absolute playback URLs; by default the requested host. */
  readonly streamUrl?: string;
  /** The base of image URLs, if it is another one. */
  readonly imageUrl?: string;
  /** Whether the player page reports how its video plays. */
  readonly isTracking: boolean;
  /** The host that receives what the page reports, if it is another one. */
  readonly dataHost?: string;
  /** Whether a header is that of an edge, which counts what it sends. */
  readonly isEdge?: (header: unknown) => boolean;
}

/** Routes for viewers: playlists, segments, files, and the page for browsers. */
export const streamRoutes = (deps: StreamDeps): FastifyPluginAsync => {
  const { opener, playables, access, producer, texts, contentKeys, deliveries, streamUrl, imageUrl } = deps;
  return async (app) => {
    const player = await loadPlayerFiles();
    await app.register(player.routes);
    const originOf = (request: FastifyRequest): string => streamUrl ?? requestedOrigin(request) ?? '';
    const { template } = player;
    const { isTracking, dataHost } = deps;
    const page = new PlayerPage({
      ...{ opener, playables, access, contentKeys, template, originOf, imageUrl, isTracking, dataHost },
    });
    const oembed = new Oembed({ playables, access, originOf, imageUrl });
    const playlists = new Playlists({ playables, contentKeys, streamUrl });
    const liveEncryption = new LiveEncryption({ contentKeys, streamUrl, logger: deps.logger });
    const livePlaylists = new LivePlaylists();
    const liveSegments = new LiveSegments({ deliveries, isEdge: deps.isEdge });
    const sender = new SegmentSender({ producer, contentKeys, deliveries, isEdge: deps.isEdge });

    const route = acceptViewers(app);
    route('/oembed', (request, reply) => oembed.send(request, reply));
    playlistRoutes(route, { opener, playlists, livePlaylists, liveEncryption, page });
    const live = { livePlaylists, liveSegments, liveEncryption };
    segmentRoutes(route, { opener, playables, playlists, texts, sender, ...live });
    fileRoutes(route, { opener, texts, openRendition: deps.openRendition, deliveries });
  };
};
