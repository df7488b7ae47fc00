import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { openApiDocument } from '../../api/openapi/openapi-document.js';
import { matchesEtag } from '../stream/byte-range.js';
import { docsPage } from './docs-page.js';

interface Text {
  readonly type: string;
  readonly body: string;
  readonly etag: string;
}

const text = (type: string, body: string): Text => ({
  type,
  body,
  etag: `"${createHash('sha256').update(body).digest('hex').slice(0, 32)}"`,
});

const send = (request: FastifyRequest, reply: FastifyReply, { type, body, etag }: Text): FastifyReply => {
  reply.headers({ etag, 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' });
  if (matchesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send();
  return reply.type(type).send(body);
};

/** The description of the API, for programs at `/openapi.json` and for people at `/docs`; no credentials. */
export const openApiRoutes = (app: FastifyInstance): void => {
  const document = openApiDocument();
  const json = text('application/json; charset=utf-8', JSON.stringify(document, undefined, 2));
  const styles = readFileSync(new URL('./docs.css', import.meta.url), 'utf8');
  const page = text('text/html; charset=utf-8', docsPage(document, styles));
  // Nothing but the page itself and this one style sheet, which is part of it.
  const styleHash = createHash('sha256').update(styles).digest('base64');
  const policy = `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

  app.get('/openapi.json', async (request, reply) =>
    // Tools that show or test an API run on origins of their own.
    send(request, reply.header('access-control-allow-origin', '*'), json),
  );
  app.get('/docs', async (request, reply) =>
    send(request, reply.headers({ 'content-security-policy': policy, 'referrer-policy': 'no-referrer' }), page),
  );
};
