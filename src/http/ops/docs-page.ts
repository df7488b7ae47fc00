import { readFileSync } from 'node:fs';
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyPluginAsync } from 'fastify';
import type { OpenApiDocument } from '../../api/openapi/openapi-document.js';

declare global {
  /** Set by docs/docs.js in the browser: a plugin of Swagger UI. */
  var kinoraDocs: unknown;
}

const read = (name: string): string => readFileSync(new URL(`docs/${name}`, import.meta.url), 'utf8');

/** Only the files of the page and requests to this server. */
const POLICY = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': ["'self'", 'data:'],
  'connect-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
};

const VIEWPORT = '<meta name="viewport" content="width=device-width, initial-scale=1">';

/** Swagger UI below `/docs`. */
export const docsPage =
  (document: OpenApiDocument): FastifyPluginAsync =>
  async (app) => {
    app.addHook('onSend', async (_, reply, payload) => {
      reply.headers({ 'referrer-policy': 'no-referrer', 'x-content-type-options': 'nosniff' });
      // The template of @fastify/swagger-ui has no viewport, so telephones would zoom out.
      const isPage = String(reply.getHeader('content-type')).startsWith('text/html');
      return isPage && typeof payload === 'string' ? payload.replace('<title>', `${VIEWPORT}<title>`) : payload;
    });
    await app.register(swagger, { mode: 'static', specification: { document: document as never } });
    await app.register(swaggerUi, {
      routePrefix: '/docs',
      staticCSP: POLICY,
      theme: {
        title: `${document.info.title} API`,
        css: [{ filename: 'docs.css', content: read('docs.css') }],
        js: [{ filename: 'docs.js', content: read('docs.js') }],
      },
      uiConfig: {
        layout: 'BaseLayout',
        docExpansion: 'list',
        defaultModelsExpandDepth: 0,
        displayRequestDuration: true,
        filter: true,
        // The source of this function is sent to the browser, where docs.js is loaded before it is called.
        plugins: [((system: unknown) => (globalThis.kinoraDocs as (system: unknown) => unknown)(system)) as never],
      },
    });
  };
