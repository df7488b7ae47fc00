import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../../telemetry/logger.js';
import { isApiPath, pathOf } from './api-paths.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller, for the log; set once the credentials have been accepted. */
    tokenId: string | null;
  }
}

/** Whoever knows a stream key can broadcast. */
const withoutStreamKey = (path: string): string => path.replace(/^\/whip\/(?!connections\/)[^/]+/, '/whip/…');

/** Headers of all responses. */
export const setCommonHeaders = (request: FastifyRequest, reply: FastifyReply): void => {
  reply.header('X-Request-Id', request.id);
  if (isApiPath(request.url)) reply.header('Cache-Control', 'no-store');
};

/**
 * Logs one line per request, without its query, which contains playback tokens. Viewers' successful
 * requests are only logged at `debug`.
 */
export const logRequests = (app: FastifyInstance, logger: Logger): void => {
  app.decorateRequest('tokenId', null);
  app.addHook('onRequest', (request, reply, done) => {
    setCommonHeaders(request, reply);
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    const level = isApiPath(request.url) || reply.statusCode >= 400 ? 'info' : 'debug';
    const fields = {
      request_id: request.id,
      method: request.method,
      path: withoutStreamKey(pathOf(request.url)),
      status: reply.statusCode,
      duration_ms: Math.round(reply.elapsedTime * 10) / 10,
      remote_address: request.ip,
      ...(request.tokenId !== null && { token_id: request.tokenId }),
    };
    logger[level](fields, 'request');
    done();
  });
};
