import type { FastifyInstance } from 'fastify';

const CLOSE_IDLE_MS = 100;

/** Refuses new requests, answers those that have begun, and cuts off what is still under way at the limit. */
export const closeHttp = async (app: FastifyInstance, limitMs: number): Promise<void> => {
  // A connection whose last answer comes after the close began would otherwise be kept for more requests.
  const idle = setInterval(() => app.server.closeIdleConnections(), CLOSE_IDLE_MS);
  const limit = setTimeout(() => app.server.closeAllConnections(), limitMs);
  try {
    await app.close();
  } finally {
    clearInterval(idle);
    clearTimeout(limit);
  }
};
