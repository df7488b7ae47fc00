import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import { isReading, READING_METHODS } from '../plugins/reading-methods.js';
import { whenClosed } from '../plugins/when-closed.js';

export type Query = Record<string, string | string[] | undefined>;

const METHODS = READING_METHODS.join(', ');

type Handler<P> = (request: FastifyRequest<{ Params: P; Querystring: Query }>, reply: FastifyReply) => Promise<unknown>;

/** Adds a route for viewers. */
export type ViewerRoute = <P>(url: string, handler: Handler<P>) => void;

const namesNothing = (params: unknown): boolean => {
  const { name, playbackId = name } = params as { name?: string; playbackId?: string };
  return playbackId !== undefined && !isId(playbackId.replace(/\.(m3u8|mpd)$/, ''));
};

/**
 * Lets pages of any origin read the responses of `app`'s routes, and rejects all methods but
 * reading. A name that can't be a playback ID is not found, so that a request to a non-existent
 * path is not treated as a viewer's.
 */
export const acceptViewers = (app: FastifyInstance): ViewerRoute => {
  app.addHook('onRequest', (request, reply, done) => {
    if (!isReading(request.method) && namesNothing(request.params)) throw new KinoraError('not_found');
    reply.headers({
      'access-control-allow-origin': '*',
      'access-control-expose-headers': 'Content-Length, Content-Range, Accept-Ranges',
      // For playlists and for rejections of public IDs; segments, images and non-public responses
      // set their own.
      'cache-control': 'no-cache',
    });
    if (request.method === 'OPTIONS') {
      const headers = { 'access-control-allow-methods': METHODS, 'access-control-allow-headers': '*' };
      reply.code(204).headers(headers).header('access-control-max-age', 86_400).send();
      return;
    }
    if (!isReading(request.method)) {
      reply.header('allow', METHODS);
      throw new KinoraError('method_not_allowed');
    }
    done();
  });
  return <P>(url: string, handler: Handler<P>): void => {
    app.route<{ Params: P; Querystring: Query }>({
      method: ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'],
      url,
      exposeHeadRoute: false,
      handler,
    });
  };
};

/** Aborts when the connection closes before the response is complete. */
export const abortWhenLeft = (reply: FastifyReply): AbortSignal => {
  const controller = new AbortController();
  whenClosed(reply.raw, () => {
    if (!reply.raw.writableFinished) controller.abort();
  });
  return controller.signal;
};
