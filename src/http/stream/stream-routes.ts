import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { AssetKeys, ContentKeys } from '../../domain/drm/content-keys.js';
import { type KeyTags, keyTags } from '../../domain/drm/key-tags.js';
import { keySystemsOf } from '../../domain/drm/license.js';
import { manifestKeys } from '../../domain/drm/manifest-keys.js';
import { EDGE_HEADER } from '../../domain/edge/edge-token.js';
import type { AccessCheck } from '../../domain/playback/check-access.js';
import type { Playable, PlayableFinder } from '../../domain/playback/find-playable.js';
import { writeManifest } from '../../domain/playback/write-manifest.js';
import {
  isInClip,
  METADATA_CHILD,
  renditionChild,
  textRenditionTrack,
  writeMediaPlaylist,
} from '../../domain/playback/write-playlist.js';
import type { OpenRendition } from '../../domain/renditions/open-rendition.js';
import { refusal } from '../../domain/signing/verify-token.js';
import type { DeliveryCounter } from '../../domain/usage/delivery-counter.js';
import { segmentDelivery } from '../../domain/usage/segment-delivery.js';
import { isKinoraError, KinoraError } from '../../lib/errors.js';
import { lastOf } from '../../lib/last-of.js';
import { listVideo } from '../../media/plan/find-segment.js';
import { GENERATION } from '../../media/plan/generation.js';
import { metadataJson } from '../../media/playlist/session-metadata.js';
import type { SegmentProducer } from '../../packager/segment-producer.js';
import type { TextTracks } from '../../packager/text-tracks.js';
import { pathOf } from '../plugins/api-paths.js';
import { createEncryptedSegments } from './encrypted-segments.js';
import { keepPlaylists } from './kept-playlists.js';
import { createOembed } from './oembed.js';
import { allowKeepingPlaylist, createOpenPlayback, immutableFor, requireReady } from './open-playback.js';
import { pageTokens } from './page-query.js';
import { playbackError } from './playback-error.js';
import { loadPlayerFiles } from './player-files.js';
import { acceptsHtml, createPlayerPage, type PageState } from './player-page.js';
import { requestedOrigin } from './requested-origin.js';
import { sendFile } from './send-file.js';
import { sendRendition } from './send-rendition.js';
import { sendPrepared, sendText } from './send-text.js';
import { sendTextFile, sendTextRendition } from './send-text-track.js';
import { abortWhenLeft, acceptViewers, type Query } from './viewer-routes.js';

export interface StreamDeps {
  readonly playables: PlayableFinder;
  readonly access: AccessCheck;
  readonly segments: SegmentProducer;
  readonly texts: TextTracks;
  readonly openRendition: OpenRendition;
  readonly deliveries: Pick<DeliveryCounter, 'count'>;
  readonly contentKeys: ContentKeys;
  /** The base of absolute playback URLs; by default the requested host. */
  readonly streamUrl?: string;
  /** The base of image URLs, if it is another one. */
  readonly imageUrl?: string;
  /** See `createOpenPlayback`. */
  readonly cacheTag?: string;
  /** Whether a header is that of an edge, which counts what it sends. */
  readonly isEdge?: (header: unknown) => boolean;
}

const PLAYLIST = 'application/vnd.apple.mpegurl';
const MANIFEST = 'application/dash+xml';
const MANIFEST_ENDING = '.mpd';

/** Child addresses are relative, so that a proxy may put everything below a path of its own. */
const baseOf = (request: FastifyRequest, playbackId: string): string =>
  pathOf(request.url).endsWith('/') ? `../${playbackId}/` : `${playbackId}/`;

/** Routes for viewers: playlists, segments, metadata, and the page for browsers. */
export const streamRoutes = (deps: StreamDeps): FastifyPluginAsync => {
  const { playables, access, segments, texts, deliveries, contentKeys, streamUrl, imageUrl } = deps;
  const { isEdge = () => false } = deps;
  const encrypted = createEncryptedSegments(segments);
  return async (app) => {
    const route = acceptViewers(app);
    const { open, openChild } = createOpenPlayback(playables, access, deps.cacheTag);
    const multivariantPlaylist = keepPlaylists();
    const player = await loadPlayerFiles();
    await app.register(player.routes);
    const originOf = (request: FastifyRequest): string => streamUrl ?? requestedOrigin(request) ?? '';
    const embedding = { access, originOf, ...(imageUrl && { imageUrl }) };
    const sendPage = createPlayerPage({ ...embedding, template: player.template });
    route('/oembed', createOembed({ ...embedding, playables }));

    const keysOf = ({ policy, drmConfigurationId, assetId }: Playable): Promise<AssetKeys> | undefined =>
      policy === 'drm' ? contentKeys.get(drmConfigurationId!, assetId) : undefined;
    const tagsOf = (request: FastifyRequest, playable: Playable): Promise<KeyTags> | undefined =>
      keysOf(playable)?.then((keys) => keyTags(keys, `${originOf(request)}/license/clearkey/${playable.playbackId}`));

    const sendPlayback = async (
      request: FastifyRequest<{ Querystring: Query }>,
      reply: FastifyReply,
      name: string,
    ): Promise<unknown> => {
      const bare = !name.endsWith('.m3u8');
      const playbackId = bare ? name : name.slice(0, -'.m3u8'.length);
      if (bare) reply.header('vary', 'Accept');
      if (bare && acceptsHtml(request.headers.accept)) {
        request.query.token = pageTokens(request.query).playback;
        const state = await open(request, reply, playbackId, 'v').then(
          async ({ playable }): Promise<PageState> => {
            const keys = await keysOf(playable);
            return { status: 200, playable, keySystems: keys && keySystemsOf(keys) };
          },
          async (error: unknown): Promise<PageState> => {
            const { status, body } = playbackError(error);
            // For the log, and for a header that says when to retry.
            if (status >= 500) throw error;
            const errored =
              isKinoraError(error, 'asset_not_ready') && (await playables.find(playbackId))?.status === 'errored';
            return { status, errored, ...(status === 403 && { reason: body.message }) };
          },
        );
        return sendPage(request, reply, playbackId, state);
      }
      const opened = await open(request, reply, playbackId, 'v');
      const origin = streamUrl ?? requestedOrigin(request);
      const tags = await tagsOf(request, opened.playable);
      const playlist = multivariantPlaylist(opened, baseOf(request, playbackId), origin, tags);
      return sendPrepared(request, reply, PLAYLIST, playlist);
    };

    const sendManifest = async (
      request: FastifyRequest<{ Querystring: Query }>,
      reply: FastifyReply,
      playbackId: string,
    ): Promise<unknown> => {
      const { playable, access: granted } = await open(request, reply, playbackId, 'v');
      // A manifest with a fixed duration would end before the file does.
      if (playable.plan.grows) throw new KinoraError('asset_not_ready');
      const keys = await keysOf(playable);
      const base = baseOf(request, playbackId);
      const manifest = await writeManifest(playable, granted, playables, base, keys && manifestKeys(keys));
      return sendText(request, reply, MANIFEST, manifest);
    };

    route<{ name: string }>('/:name', (request, reply) => {
      const { name } = request.params;
      if (name.endsWith(MANIFEST_ENDING)) return sendManifest(request, reply, name.slice(0, -MANIFEST_ENDING.length));
      return sendPlayback(request, reply, name);
    });

    route<{ playbackId: string }>('/:playbackId/metadata.json', async (request, reply) => {
      const { playable } = await open(request, reply, request.params.playbackId, 'v', METADATA_CHILD);
      const body = JSON.stringify(metadataJson(playable.meta.title, playable.plan.durationSeconds, playable.chapters));
      return sendText(request, reply, 'application/json; charset=utf-8', body);
    });

    route<{ playbackId: string; plan: string; rendition: string; file: string }>(
      '/:playbackId/:plan/:rendition/:file',
      async (request, reply) => {
        const { playbackId, plan: version, rendition, file } = request.params;
        const clip = lastOf(request.query.segments);
        const child = renditionChild(version, rendition, clip);
        const opened = await openChild(request, reply, playbackId, child);
        const { playable, access: granted } = opened;
        const { environmentId, assetId, plan } = playable;
        if (version !== String(GENERATION)) throw new KinoraError('not_found');
        const trackId = textRenditionTrack(rendition);
        if (trackId !== undefined) return sendTextRendition(request, reply, texts, opened, { trackId, file, clip });
        const further = await playables.findAdditional(playable, rendition);
        if (file === 'playlist.m3u8') {
          const tags = await tagsOf(request, playable);
          const playlist = writeMediaPlaylist(plan, further, granted, rendition, clip, tags);
          if (playlist === undefined) throw new KinoraError('not_found');
          allowKeepingPlaylist(reply, opened);
          return sendText(request, reply, PLAYLIST, playlist);
        }
        if (granted.signed && !isInClip(file, clip)) throw refusal('Token signature is invalid');
        const isVideo = listVideo(plan.video).some(({ name }) => name === rendition);
        const track = isVideo ? 'video' : 'audio';
        const keys = await keysOf(playable);
        const left = abortWhenLeft(reply);
        const asset = { id: assetId, plan, isLocal: playable.early === true, ...(further && { further }) };
        const sent = await segments
          .segment(asset, rendition, file, { signal: left })
          .then((cached) => (keys ? encrypted.encrypt(asset, { rendition, file, track }, cached, keys) : cached))
          .catch((error: unknown) => {
            if (left.aborted) return undefined;
            throw error;
          });
        // The client has disconnected.
        if (!sent) return reply.hijack();
        reply.header('cache-control', immutableFor(opened));
        return sendFile(request, reply, sent, isVideo ? 'video/mp4' : 'audio/mp4', (bytes, isWhole) => {
          const isCounted = isWhole && bytes === sent.sizeBytes && !isEdge(request.headers[EDGE_HEADER]);
          const delivered = isCounted ? segmentDelivery(plan, rendition, file, further) : undefined;
          if (delivered) deliveries.count({ environmentId, assetId, ...delivered, bytes });
        });
      },
    );

    route<{ playbackId: string; file: string }>('/:playbackId/text/:file', async (request, reply) => {
      const { playbackId, file } = request.params;
      return sendTextFile(request, reply, texts, requireReady(await open(request, reply, playbackId, 'v')), file);
    });

    route<{ playbackId: string; file: string }>('/:playbackId/:file', async (request, reply) => {
      const { playbackId, file } = request.params;
      return sendRendition(request, reply, deps, requireReady(await open(request, reply, playbackId, 'v')), file);
    });

    // Unknown names are not found, but access and state are checked first.
    route<{ playbackId: string; '*': string }>('/:playbackId/*', async (request, reply) => {
      await open(request, reply, request.params.playbackId, 'v');
      throw new KinoraError('not_found');
    });
  };
};
