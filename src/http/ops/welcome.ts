import type { FastifyInstance } from 'fastify';

const TEXT = `Kinora is running.

  POST /video/v1/assets   creates an asset (HTTP Basic with an access token)
  GET  /<playback id>     plays it
  GET  /docs              tells what it can do (/openapi.json for programs)
  GET  /healthz, /readyz  tell how it is
`;

/** The printed address opened in a browser: says that it is the right one. */
export const welcomeRoute = (app: FastifyInstance): void => {
  app.get('/', async (_, reply) =>
    reply.header('Cache-Control', 'no-store').type('text/plain; charset=utf-8').send(TEXT),
  );
};
