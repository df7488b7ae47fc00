import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

const CHECK_MS = 100;
/** A connection on which a request is under way but brings nothing for so many checks, a second, is not waited for. */
const STALLED_CHECKS = 10;

/**
 * Watches the connections of an app, from before it listens. The function that it returns refuses new requests, answers those
 * that have arrived and receives those that are arriving; what is still under way at `limitMs` is cut off.
 */
export const watchConnections = (app: FastifyInstance): ((limitMs: number) => Promise<void>) => {
  /** Requests of each connection that are not answered yet. */
  const connections = new Map<Socket, Set<FastifyRequest['raw']>>();
  app.server.on('connection', (socket: Socket) => {
    connections.set(socket, new Set());
    socket.once('close', () => connections.delete(socket));
  });
  app.server.on('request', (request: FastifyRequest['raw'], response: FastifyReply['raw']) => {
    const unanswered = connections.get(request.socket);
    unanswered?.add(request);
    response.once('close', () => unanswered?.delete(request));
  });

  return async (limitMs) => {
    const silence = new Map<Socket, { readonly bytes: number; readonly checks: number }>();
    const check = (): void => {
      // A connection whose last answer comes after the close began would otherwise be kept for more requests.
      app.server.closeIdleConnections();
      for (const [socket, unanswered] of connections) {
        const isAnswering = [...unanswered].some(({ complete }) => complete);
        const known = silence.get(socket);
        const checks = !isAnswering && known?.bytes === socket.bytesRead ? known.checks + 1 : 0;
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
