import type { FastifyPluginAsync } from 'fastify';
import {
  type BroadcastControl,
  LIVE_CALL_PATH,
  LIVE_CALL_TYPE,
  type LiveCall,
} from '../../domain/live/live-control.js';
import { KinoraError } from '../../lib/errors.js';
import { type InternalSignature, SIGNATURE_HEADER } from '../../nodes/internal-signature.js';

interface LiveRouteDeps {
  /** The broadcasts of this server. */
  readonly live: BroadcastControl;
  readonly signature: Pick<InternalSignature, 'verify'>;
}

const MAX_CALL_BYTES = 1000;

/** Ends broadcasts of this server, hands them over or cuts them, for another one. */
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
      const result = await obey(live, JSON.parse(body) as LiveCall);
      return reply.type('application/json').send(JSON.stringify(result ?? null));
    });
  };

const obey = (live: BroadcastControl, call: LiveCall): Promise<boolean | number | undefined> => {
  const { liveStreamId, reason, handsOver, recordedAssetId, copies } = call;
  if (recordedAssetId !== undefined) return live.recordedSeconds({ liveStreamId, assetId: recordedAssetId });
  if (copies) return live.copyRange(copies);
  if (handsOver) return live.handOver(liveStreamId);
  return reason ? live.disconnect(liveStreamId, reason) : live.complete(liveStreamId);
};
