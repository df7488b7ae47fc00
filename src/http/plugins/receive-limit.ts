import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Bodies are files, which may take hours to arrive: the route has its own limit. */
    receivesFiles?: boolean;
  }
}

/**
 * Closes connections whose request has not arrived within `limitMs`. The server's own limit would
 * also apply to files.
 */
export const limitReceiving = (app: FastifyInstance, limitMs: number): void => {
  app.addHook('onRequest', ({ raw, routeOptions }, _, done) => {
    if (hasBody(raw) && !routeOptions.config.receivesFiles) {
      const limit = setTimeout(() => raw.destroy(), limitMs);
      raw.once('close', () => clearTimeout(limit));
    }
    done();
  });
};

const hasBody = ({ headers }: FastifyRequest['raw']): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** Several times the largest body of a request. */
const MAX_UNREAD_BYTES = 64 * 2 ** 20;

/**
 * Reads and discards the rest of a body that was not read before the response, up to 64 MiB: many
 * clients read the response only when they have sent everything, and one that was closed while it
 * sends would lose the response. Routes that receive files do this themselves.
 */
export const discardUnread = (app: FastifyInstance): void => {
  app.addHook('onSend', ({ raw, routeOptions }, reply, _payload, done) => {
    if (hasBody(raw) && !raw.complete && !routeOptions.config.receivesFiles) {
      // The framework closes the connection after a body that it can't use.
      reply.removeHeader('connection');
      let unreadBytes = 0;
      raw.on('data', (chunk: Buffer) => {
        unreadBytes += chunk.length;
        if (unreadBytes > MAX_UNREAD_BYTES) raw.destroy();
      });
    }
    done();
  });
};

/** The usual default of proxies: a viewer that was paused requests the rest again. */
const STALL_LIMIT_MS = 60_000;

/**
 * Closes the connection when its reader accepts no data of the response for a minute. Call it once
 * the response is being sent.
 */
export const limitStall = (response: FastifyReply['raw']): void => {
  response.setTimeout(STALL_LIMIT_MS);
};

/**
 * Requests the body from a client that waits for this (`Expect: 100-continue`, RFC 9110, 10.1.1).
 * Below `filePrefixes`, the route does so once it accepts the file.
 */
export const responseExpectations = ({ server }: FastifyInstance, filePrefixes: readonly string[]): void => {
  server.on('checkContinue', (request, response) => {
    if (!filePrefixes.some((prefix) => request.url?.startsWith(prefix))) response.writeContinue();
    server.emit('request', request, response);
  });
};
