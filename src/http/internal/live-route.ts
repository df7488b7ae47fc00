import type { FastifyPluginAsync } from 'fastify';
import { LIVE_CALL_PATH, LIVE_CALL_TYPE, type LiveCall, type LiveControl } from '../../domain/live/live-control.js';
import { KinoraError } from '../../lib/errors.js';
import { type InternalSignature, SIGNATURE_HEADER } from '../../nodes/internal-signature.js';

interface LiveRouteDeps {
  /** The broadcasts of this server. */
  readonly live: LiveControl;
  readonly signature: Pick<InternalSignature, 'verify'>;
}

const MAX_CALL_BYTES = 1000;

/** Ends broadcasts of this server for the API of another one. */
export const liveRoute =
  ({ live, signature }: LiveRouteDeps): FastifyPluginAsync =>
  async (app) => {
    const limits = { parseAs: 'string', bodyLimit: MAX_CALL_BYTES } as const;
    app.addContentTypeParser(LIVE_CALL_TYPE, limits, (_, body, done) => done(null, body));
    app.post<{ Body: string }>(LIVE_CALL_PATH, async ({ body, headers }, reply) => {
      reply.header('cache-control', 'no-store');
      const isValid =
        typeof body === 'string' && signature.verify(LIVE_CALL_PATH, body, headers[SIGNATURE_HEADER]) === 'valid';
      if (!isValid) throw new KinoraError('not_found');
      const { liveStreamId, reason } = JSON.parse(body) as LiveCall;
      const isEnded = reason ? await live.disconnect(liveStreamId, reason) : await live.complete(liveStreamId);
      return reply.type('application/json').send(JSON.stringify(isEnded));
    });
  };
