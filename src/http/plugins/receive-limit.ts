import type { FastifyInstance, FastifyReply } from 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Bodies are files, which may take hours to arrive: the route has its own limit. */
    receivesFiles?: boolean;
  }
}

/**
 * Closes connections whose request has not arrived within `limitMs`. The server's own limit would also apply to
 * files.
 */
export const limitReceiving = (app: FastifyInstance, limitMs: number): void => {
  app.addHook('onRequest', ({ raw, routeOptions }, _, done) => {
    const hasBody = raw.headers['transfer-encoding'] !== undefined || Number(raw.headers['content-length'] ?? 0) > 0;
    if (hasBody && !routeOptions.config.receivesFiles) {
      const limit = setTimeout(() => raw.destroy(), limitMs);
      raw.once('close', () => clearTimeout(limit));
    }
    done();
  });
};

/** The usual default of proxies: a viewer that was paused requests the rest again. */
const STALL_LIMIT_MS = 60_000;

/**
 * Closes the connection when its reader accepts no data of the response for a minute. Call it once the response is
 * being sent.
 */
export const limitStall = (response: FastifyReply['raw']): void => {
  response.setTimeout(STALL_LIMIT_MS);
};

/**
 * Requests the body from a client that waits for this (`Expect: 100-continue`, RFC 9110, 10.1.1). Below
 * `filePrefixes`, the route does so once it accepts the file.
 */
export const answerExpectations = ({ server }: FastifyInstance, filePrefixes: readonly string[]): void => {
  server.on('checkContinue', (request, response) => {
    if (!filePrefixes.some((prefix) => request.url?.startsWith(prefix))) response.writeContinue();
    server.emit('request', request, response);
  });
};
