import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { WhipIngest } from '../../domain/live/whip-ingest.js';
import { KinoraError } from '../../lib/errors.js';
import type { Owners } from '../internal/proxy-to-owner.js';

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

interface ConnectionParams {
  readonly liveStreamId: string;
  readonly id: string;
}

const connectionPath = ({ liveStreamId, id }: ConnectionParams): string =>
  `/whip/connections/${encodeURIComponent(liveStreamId)}/${encodeURIComponent(id)}`;

/**
 * WHIP (RFC 9725): an encoder posts its offer and gets the answer; DELETE ends the connection.
 * @param owners the other servers, one of which may have the connection
 */
export const whipRoutes =
  (whip: WhipIngest, owners: Owners | undefined): FastifyPluginAsync =>
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
      const { sdp, ...connection } = await whip.publish(streamKey, offerOf(request), request.ip);
      await reply.code(201).header('location', connectionPath(connection)).type('application/sdp').send(sdp);
    };
    /** On the server that has the broadcast, which looks no further. */
    const endAtOwner = async (connection: ConnectionParams): Promise<boolean> => {
      // The broadcast may have begun since the others were asked last.
      if (!owners?.ofEarly(connection.liveStreamId)) await owners?.refresh();
      const owner = owners?.ofEarly(connection.liveStreamId);
      if (!owner) return false;
      const path = `${connectionPath(connection)}?here`;
      const { status, body } = await owner.fetch({ method: 'DELETE', path, headers: {} });
      body.destroy();
      return status === 200;
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
    app.delete<{ Params: ConnectionParams; Querystring: { here?: string } }>(
      '/whip/connections/:liveStreamId/:id',
      async ({ params, query }, reply) => {
        const hasEnded = whip.end(params.id) || (query.here === undefined && (await endAtOwner(params)));
        if (!hasEnded) throw new KinoraError('not_found');
        return reply.code(200).send();
      },
    );
    for (const path of ['/whip', '/whip/:streamKey', '/whip/connections/:liveStreamId/:id'])
      app.options(path, async (_request, reply) => reply.code(204).send());
  };
