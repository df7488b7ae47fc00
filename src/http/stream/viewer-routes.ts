import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import { isReading, READING_METHODS } from '../plugins/reading-methods.js';
import { whenClosed } from '../plugins/when-closed.js';

export type Query = Record<string, string | string[] | undefined>;

const METHODS = READING_METHODS.join(', ');

type Handler<P> = (request: FastifyRequest<{ Params: P; Querystring: Query }>, reply: FastifyReply) => Promise<unknown>;

/**
 * Lets pages of any origin read what the routes of `app` answer, and refuses every method but reading: what is named by no
 * possible playback id is not found, so that a call to a path that does not exist is not taken for a viewer's.
 */
export const acceptViewers = (app: FastifyInstance) => {
  app.addHook('onRequest', (request, reply, done) => {
    const { name, playbackId = name } = request.params as { name?: string; playbackId?: string };
    const namesNothing = playbackId !== undefined && !isId(playbackId.replace(/\.(m3u8|mpd)$/, ''));
    if (namesNothing && !isReading(request.method)) throw new KinoraError('not_found');
    reply.headers({
      'access-control-allow-origin': '*',
      'access-control-expose-headers': 'Content-Length, Content-Range, Accept-Ranges',
      // Holds for playlists and refusals of public ids; segments and images set their own, and so does what is not public.
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

/** Aborts when the connection closes before the answer is complete. */
export const abortWhenLeft = (reply: FastifyReply): AbortSignal => {
  const controller = new AbortController();
  whenClosed(reply.raw, () => {
    if (!reply.raw.writableFinished) controller.abort();
  });
  return controller.signal;
};
