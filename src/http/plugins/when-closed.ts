import type { FastifyReply } from 'fastify';

/**
 * Calls `run` when the response is closed, or immediately if it already is: the viewer may leave
 * before the handler runs.
 */
export const whenClosed = (response: FastifyReply['raw'], run: () => void): void => {
  if (response.closed) run();
  else response.once('close', run);
};
