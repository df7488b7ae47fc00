import { readFileSync } from 'node:fs';
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyPluginAsync,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import type { OpenApiDocument } from '../../api/openapi/openapi-document.js';
import { KinoraError } from '../../lib/errors.js';
import { logFailure } from '../plugins/log-failure.js';
import { limitStall } from '../plugins/receive-limit.js';
import { playbackError, sendPlaybackError } from '../stream/playback-error.js';

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

/**
 * Swagger UI below `/docs`, in an app that does not listen. Failures have the bodies of other
 * pages.
 */
const startPage = async (document: OpenApiDocument, log: FastifyBaseLogger): Promise<FastifyInstance> => {
  const [{ default: swagger }, { default: swaggerUi }] = await Promise.all([
    import('@fastify/swagger'),
    import('@fastify/swagger-ui'),
  ]);
  const app = fastify({ routerOptions: { ignoreTrailingSlash: true } });
  app.setNotFoundHandler((_, reply) => sendPlaybackError(reply, new KinoraError('not_found')));
  app.setErrorHandler((error, _, reply) => {
    logFailure(log, error, playbackError(error).status);
    return sendPlaybackError(reply, error);
  });
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
      // The source of this function is sent to the browser, where docs.js is loaded before it is
      // called.
      plugins: [((system: unknown) => (globalThis.kinoraDocs as (system: unknown) => unknown)(system)) as never],
    },
  });
  await app.ready();
  return app;
};

/**
 * Swagger UI below `/docs`. The first request loads its packages, which would take a tenth of the
 * CPU time of each start.
 */
export const docsPage =
  (document: OpenApiDocument): FastifyPluginAsync =>
  async (app) => {
    let starting: Promise<FastifyInstance> | undefined;
    const forward = async (request: FastifyRequest, reply: FastifyReply) => {
      starting ??= startPage(document, app.log);
      const page = await starting.catch((error: unknown) => {
        starting = undefined;
        throw error;
      });
      reply.hijack();
      limitStall(reply.raw);
      for (const [name, value] of Object.entries(reply.getHeaders())) reply.raw.setHeader(name, value!);
      page.routing(request.raw, reply.raw);
      return reply;
    };
    for (const path of ['/docs', '/docs/json', '/docs/yaml', '/docs/*']) app.get(path, forward);
    app.addHook('onClose', async () => (await starting?.catch(() => undefined))?.close());
  };
