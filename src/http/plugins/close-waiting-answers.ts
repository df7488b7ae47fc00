import type { FastifyInstance } from 'fastify';

/**
 * When a connection ends, Node.js tells only the answer that is being sent on it. Those to requests that were sent ahead
 * (RFC 9112, 9.3.2) would wait behind it for ever, with the files that they hold open: this closes them too.
 */
export const closeWaitingAnswers = (app: FastifyInstance): void => {
  app.addHook('onRequest', async ({ raw: { socket } }, { raw: answer }) => {
    const isWaiting = answer.socket === null;
    if (!isWaiting) return;
    const close = (): void => {
      answer.destroy();
      answer.emit('close');
    };
    socket.setMaxListeners(0).once('close', close);
    answer.once('close', () => socket.off('close', close));
  });
};
