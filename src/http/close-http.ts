import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

const CHECK_MS = 100;
/** A connection whose request receives nothing for this many checks (seconds) is not waited for. */
const STALLED_CHECKS = 10;

/** The connections of an app, which must not listen yet. */
export class Connections {
  readonly #app: FastifyInstance;
  /** The unanswered requests of each connection. */
  readonly #requests = new Map<Socket, Set<FastifyRequest['raw']>>();
  #isLeaving = false;

  constructor(app: FastifyInstance) {
    this.#app = app;
    app.server.on('connection', (socket: Socket) => {
      this.#requests.set(socket, new Set());
      socket.once('close', () => this.#requests.delete(socket));
    });
    // Before the app sends its headers.
    app.server.prependListener('request', (request: FastifyRequest['raw'], response: FastifyReply['raw']) => {
      if (this.#isLeaving) response.setHeader('Connection', 'close');
      const withoutResponse = this.#requests.get(request.socket);
      withoutResponse?.add(request);
      response.once('close', () => withoutResponse?.delete(request));
    });
  }

  /**
   * Keeps no connection open after its next response, so that a proxy has few that it could send a
   * request over while they are being closed.
   */
  leave(): void {
    this.#isLeaving = true;
  }

  /**
   * Refuses new connections, answers the requests that have arrived and receives those that are
   * arriving; what remains at `limitMs` is cut off.
   */
  async close(limitMs: number): Promise<void> {
    this.leave();
    const { server } = this.#app;
    const silence = new Map<Socket, { readonly bytes: number; readonly checks: number }>();
    const check = (): void => {
      // Otherwise, a connection whose last response is sent after the close began would be kept
      // open for more requests.
      server.closeIdleConnections();
      for (const [socket, withoutResponse] of this.#requests) {
        const isResponding = [...withoutResponse].some(({ complete }) => complete);
        const earlier = silence.get(socket);
        const checks = !isResponding && earlier?.bytes === socket.bytesRead ? earlier.checks + 1 : 0;
        silence.set(socket, { bytes: socket.bytesRead, checks });
        if (checks >= STALLED_CHECKS) socket.destroy();
      }
    };
    const checking = setInterval(check, CHECK_MS);
    const limit = setTimeout(() => server.closeAllConnections(), limitMs);
    try {
      await this.#app.close();
    } finally {
      clearInterval(checking);
      clearTimeout(limit);
    }
  }
}
