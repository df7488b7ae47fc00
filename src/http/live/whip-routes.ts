import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { WhipIngest } from '../../domain/live/whip-ingest.js';
import { KinoraError } from '../../lib/errors.js';

/** Pages of any origin may publish: the stream key is the permission. */
const allowPages = (reply: FastifyReply): void => {
  reply.header('access-control-allow-origin', '*');
  reply.header('access-control-allow-methods', 'POST, DELETE, OPTIONS');
  reply.header('access-control-allow-headers', 'content-type, authorization');
  reply.header('access-control-expose-headers', 'location');
  reply.header('cache-control', 'no-store');
};

const offerOf = ({ body, headers }: FastifyRequest): string => {
  if (headers['content-type']?.split(';')[0]?.trim().toLowerCase() !== 'application/sdp' || typeof body !== 'string')
    throw new KinoraError('unsupported_media_type', { messages: ['Content-Type must be application/sdp'] });
  return body;
};

/** WHIP (RFC 9725): an encoder posts its offer and gets the answer; DELETE ends the connection. */
export const whipRoutes =
  (whip: WhipIngest): FastifyPluginAsync =>
  async (app) => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
    app.addHook('onRequest', async (_request, reply) => allowPages(reply));
    app.setErrorHandler((error, _request, reply) => {
      if (!(error instanceof KinoraError)) throw error;
      const { status, type, messages } = error;
      if (error.code === 'unauthorized') reply.header('www-authenticate', 'Bearer');
      return reply.code(status).send({ error: { type, messages } });
    });

    const publish = async (streamKey: string, request: FastifyRequest, reply: FastifyReply): Promise<void> => {
      const { id, sdp } = await whip.publish(streamKey, offerOf(request), request.ip);
      await reply.code(201).header('location', `/whip/connections/${id}`).type('application/sdp').send(sdp);
    };
    app.post<{ Params: { streamKey: string } }>('/whip/:streamKey', (request, reply) =>
      publish(request.params.streamKey, request, reply),
    );
    // OBS sends the key as a bearer token.
    app.post('/whip', (request, reply) => {
      const [, streamKey] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
      if (streamKey === undefined) throw new KinoraError('unauthorized');
      return publish(streamKey, request, reply);
    });
    app.delete<{ Params: { id: string } }>('/whip/connections/:id', async ({ params }, reply) => {
      if (!whip.end(params.id)) throw new KinoraError('not_found');
      return reply.code(200).send();
    });
    for (const path of ['/whip', '/whip/:streamKey', '/whip/connections/:id'])
      app.options(path, async (_request, reply) => reply.code(204).send());
  };
