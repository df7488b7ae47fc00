import type { FastifyInstance } from 'fastify';
import { CHANGES, readChange } from '../../db/tables/server/change.js';
import { KinoraError } from '../../lib/errors.js';
import { findSession } from '../plugins/find-session.js';
import { limitStall } from '../plugins/receive-limit.js';
import { ChangeStreams } from './change-streams.js';
import type { ConsoleDeps } from './console-deps.js';

/**
 * The stream of changes. The database announces them; this server listens once for all browsers.
 */
export const streamRoutes = async (app: FastifyInstance, deps: ConsoleDeps): Promise<ChangeStreams> => {
  const { sessions, database, logger } = deps;
  const streams = new ChangeStreams(sessions, logger);
  const announce = (payload: string): void => {
    const { environmentId, kind, type, id, assetId } = readChange(payload);
    const data = { type, id, asset_id: assetId };
    streams.announce({ environmentId, event: kind, data });
  };
  const stopListening = await database.listen(CHANGES, announce, () => streams.reset());
  // Before the server waits for its connections to close.
  app.addHook('preClose', async () => {
    streams.stop();
    await stopListening();
  });

  app.get('/stream', { exposeHeadRoute: false }, async (request, reply) => {
    const session = await findSession(request, sessions);
    if (!streams.hasRoom(session))
      throw new KinoraError('unavailable', { messages: ['Too many pages of the console are open'] });
    const lastEventId = request.headers['last-event-id'];
    reply.hijack();
    const { raw } = reply;
    const headers = { ...reply.getHeaders(), 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' };
    raw.writeHead(200, headers as Record<string, string>);
    limitStall(raw);
    streams.add(raw, session, typeof lastEventId === 'string' ? lastEventId : undefined);
  });
  return streams;
};
