import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { ApiPart } from '../../api/openapi/api-part.js';
import { openApiDocument } from '../../api/openapi/openapi-document.js';
import { matchesEtag } from '../stream/byte-range.js';
import { docsPage } from './docs-page.js';

/**
 * The description of the API, for programs at `/openapi.json` and for people at `/docs`; no
 * credentials.
 */
export const openApiRoutes = (app: FastifyInstance, api: ApiPart): void => {
  const document = openApiDocument(api);
  const json = JSON.stringify(document, undefined, 2);
  const etag = `"${createHash('sha256').update(json).digest('hex').slice(0, 32)}"`;

  app.get('/openapi.json', async (request, reply) => {
    reply.headers({
      etag,
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      // Tools that display or test APIs run on other origins.
      'access-control-allow-origin': '*',
    });
    if (matchesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send();
    return reply.type('application/json; charset=utf-8').send(json);
  });
  app.register(docsPage(document));
};
