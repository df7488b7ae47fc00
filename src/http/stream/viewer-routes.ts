import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { KinoraError } from '../../lib/errors.js';

export type Query = Record<string, string | string[] | undefined>;

const METHODS = 'GET, HEAD, OPTIONS';

type Handler<P> = (request: FastifyRequest<{ Params: P; Querystring: Query }>, reply: FastifyReply) => Promise<unknown>;

/** Lets pages of any origin read what the routes of `app` answer, and refuses every method but reading. */
export const acceptViewers = (app: FastifyInstance) => {
  app.addHook('onRequest', async (request, reply) => {
    reply.headers({
      'access-control-allow-origin': '*',
      'access-control-expose-headers': 'Content-Length, Content-Range, Accept-Ranges',
      // Holds for playlists and refusals of public ids; segments and images set their own, and so does what is not public.
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
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort();
  });
  return controller.signal;
};
