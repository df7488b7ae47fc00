import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

const CHECK_MS = 100;
/** A connection whose request receives nothing for this many checks (seconds) is not waited for. */
const STALLED_CHECKS = 10;

/**
 * Watches the connections of an app, which must not listen yet. The returned function refuses new
 * requests, answers those that have arrived and receives those that are arriving; what remains at
 * `limitMs` is cut off.
 */
export const watchConnections = (app: FastifyInstance): ((limitMs: number) => Promise<void>) => {
  /** The unanswered requests of each connection. */
  const connections = new Map<Socket, Set<FastifyRequest['raw']>>();
  app.server.on('connection', (socket: Socket) => {
    connections.set(socket, new Set());
    socket.once('close', () => connections.delete(socket));
  });
  app.server.on('request', (request: FastifyRequest['raw'], response: FastifyReply['raw']) => {
    const withoutResponse = connections.get(request.socket);
    withoutResponse?.add(request);
    response.once('close', () => withoutResponse?.delete(request));
  });

  return async (limitMs) => {
    const silence = new Map<Socket, { readonly bytes: number; readonly checks: number }>();
    const check = (): void => {
      // Otherwise, a connection whose last response is sent after the close began would be kept
      // open for more requests.
      app.server.closeIdleConnections();
      for (const [socket, withoutResponse] of connections) {
        const isResponding = [...withoutResponse].some(({ complete }) => complete);
        const earlier = silence.get(socket);
        const checks = !isResponding && earlier?.bytes === socket.bytesRead ? earlier.checks + 1 : 0;
        silence.set(socket, { bytes: socket.bytesRead, checks });
        if (checks >= STALLED_CHECKS) socket.destroy();
      }
    };
    const checking = setInterval(check, CHECK_MS);
    const limit = setTimeout(() => app.server.closeAllConnections(), limitMs);
    try {
      await app.close();
    } finally {
      clearInterval(checking);
      clearTimeout(limit);
    }
  };
};
