import { createHash } from 'node:crypto';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { SegmentProducer } from '../../cache/produce-segment.js';
import { checkAccess } from '../../domain/playback/check-access.js';
import type { PlayableFinder } from '../../domain/playback/find-playable.js';
import {
  type ReadyPlayable,
  writeMediaPlaylist,
  writeMultivariantPlaylist,
} from '../../domain/playback/write-playlist.js';
import { isKinoraError, KinoraError } from '../../lib/errors.js';
import { AUDIO_RENDITION } from '../../media/find-segment.js';
import { metadataJson } from '../../media/metadata-json.js';
import { pathOf } from '../plugins/api-paths.js';
import { matchesEtag } from './byte-range.js';
import { playbackError } from './playback-error.js';
import { acceptsHtml, loadPlayer } from './player-page.js';
import { sendFile } from './send-file.js';

export interface StreamDeps {
  readonly playables: PlayableFinder;
  readonly segments: SegmentProducer;
}

const PLAYLIST = 'application/vnd.apple.mpegurl';
const METHODS = 'GET, HEAD, OPTIONS';

type Query = Record<string, string | string[] | undefined>;

/** What viewers ask for: playlists, segments, metadata and the page for a browser without a player. */
export const streamRoutes = ({ playables, segments }: StreamDeps): FastifyPluginAsync => {
  return async (app) => {
    app.addHook('onRequest', async (request, reply) => {
      reply.headers({
        'access-control-allow-origin': '*',
        'access-control-expose-headers': 'Content-Length, Content-Range, Accept-Ranges',
        // Holds for refusals; media set their own.
        'cache-control': 'no-cache',
      });
      if (request.method === 'OPTIONS') {
        const headers = { 'access-control-allow-methods': METHODS, 'access-control-allow-headers': '*' };
        return reply.code(204).headers(headers).header('access-control-max-age', 86_400).send();
      }
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        reply.header('allow', METHODS);
        throw new KinoraError('method_not_allowed');
      }
    });

    const findReady = async (playbackId: string, query: Query): Promise<ReadyPlayable> => {
      const playable = await playables.find(playbackId);
      if (!playable) throw new KinoraError('not_found');
      checkAccess(playable.policy, lastOf(query.token));
      if (playable.status !== 'ready' || !playable.plan) throw new KinoraError('asset_not_ready');
      return { ...playable, plan: playable.plan };
    };

    const player = await loadPlayer();
    await app.register(player.routes);

    const route = <P>(
      url: string,
      handler: (request: FastifyRequest<{ Params: P; Querystring: Query }>, reply: FastifyReply) => Promise<unknown>,
    ) =>
      app.route<{ Params: P; Querystring: Query }>({
        method: ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'],
        url,
        exposeHeadRoute: false,
        handler,
      });

    const sendPlayback = async (
      request: FastifyRequest<{ Querystring: Query }>,
      reply: FastifyReply,
      name: string,
    ): Promise<unknown> => {
      const bare = !name.endsWith('.m3u8');
      const playbackId = bare ? name : name.slice(0, -'.m3u8'.length);
      if (bare) reply.header('vary', 'Accept');
      if (bare && acceptsHtml(request.headers.accept)) {
        const state = await findReady(playbackId, request.query).then(
          (playable) => ({ status: 200, title: playable.meta.title }),
          async (error: unknown) => {
            const { status } = playbackError(error);
            // For the log, and for a header that says when to come back.
            if (status >= 500) throw error;
            const errored =
              isKinoraError(error, 'asset_not_ready') && (await playables.find(playbackId))?.status === 'errored';
            return { status, errored };
          },
        );
        return player.page(request, reply, playbackId, state);
      }
      const playable = await findReady(playbackId, request.query);
      const query = Object.fromEntries(Object.entries(request.query).map(([key, value]) => [key, lastOf(value)]));
      // Child addresses are relative, so that a proxy may put everything below a path of its own.
      const base = pathOf(request.url).endsWith('/') ? `../${playbackId}/` : `${playbackId}/`;
      return sendText(request, reply, PLAYLIST, writeMultivariantPlaylist(playable, query, base));
    };

    route<{ name: string }>('/:name', (request, reply) => sendPlayback(request, reply, request.params.name));

    route<{ playbackId: string }>('/:playbackId/metadata.json', async (request, reply) => {
      const { meta, plan } = await findReady(request.params.playbackId, request.query);
      const body = JSON.stringify(metadataJson(meta.title, plan.durationSeconds));
      return sendText(request, reply, 'application/json; charset=utf-8', body);
    });

    route<{ playbackId: string; plan: string; rendition: string; file: string }>(
      '/:playbackId/:plan/:rendition/:file',
      async (request, reply) => {
        const { playbackId, plan: version, rendition, file } = request.params;
        const { assetId, plan } = await findReady(playbackId, request.query);
        if (version !== String(plan.version)) throw new KinoraError('not_found');
        if (file === 'playlist.m3u8') {
          const playlist = writeMediaPlaylist(plan, rendition, lastOf(request.query.segments));
          if (playlist === undefined) throw new KinoraError('not_found');
          return sendText(request, reply, PLAYLIST, playlist);
        }
        const left = abortWhenLeft(reply);
        const cached = await segments
          .segment({ id: assetId, plan }, rendition, file, { signal: left })
          .catch((error: unknown) => {
            if (left.aborted) return undefined;
            throw error;
          });
        // Nobody is there to be answered.
        if (!cached) return reply.hijack();
        reply.header('cache-control', 'public, max-age=31536000, immutable');
        return sendFile(request, reply, cached, rendition === AUDIO_RENDITION ? 'audio/mp4' : 'video/mp4');
      },
    );

    // Static renditions, text tracks and unknown names: nothing of that kind exists, yet access and state come first.
    route<{ playbackId: string; '*': string }>('/:playbackId/*', async (request) => {
      await findReady(request.params.playbackId, request.query);
      throw new KinoraError('not_found');
    });
  };
};

/** The last one of a repeated query parameter wins. */
const lastOf = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value.at(-1) : value;

/** Aborts when the connection closes before the answer is complete. */
const abortWhenLeft = (reply: FastifyReply): AbortSignal => {
  const controller = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort();
  });
  return controller.signal;
};

const sendText = (request: FastifyRequest, reply: FastifyReply, contentType: string, text: string): FastifyReply => {
  const etag = `"${createHash('sha256').update(text).digest('hex').slice(0, 32)}"`;
  reply.headers({ etag, 'cache-control': 'no-cache', 'content-type': contentType });
  return matchesEtag(request.headers['if-none-match'], etag) ? reply.code(304).send() : reply.send(text);
};
