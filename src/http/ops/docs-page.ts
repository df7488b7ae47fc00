import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyPluginAsync } from 'fastify';
import type { OpenApiDocument } from '../../api/openapi/openapi-document.js';

/** Immutable.js collections, as in Swagger UI. */
interface Collection<T> {
  readonly size: number;
  map(change: (value: T) => T): Collection<T>;
  filter(keep: (value: T) => boolean): Collection<T>;
}
interface Entry {
  getIn(path: readonly string[]): unknown;
}
interface Group {
  get(name: 'operations'): Collection<Entry>;
  set(name: 'operations', value: Collection<Entry>): Group;
}

/**
 * Searches operations; by default only the names of groups are compared. The function's source is sent to the
 * browser, so it must not use anything outside itself.
 */
const searchOperations = (groups: Collection<Group>, phrase: string): Collection<Group> => {
  const isFound = (entry: Entry): boolean =>
    [['path'], ['operation', 'summary'], ['operation', 'description']].some((path) =>
      String(entry.getIn(path)).toLowerCase().includes(phrase.toLowerCase()),
    );
  return groups
    .map((group) => group.set('operations', group.get('operations').filter(isFound)))
    .filter((group) => group.get('operations').size > 0);
};

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

/** Swagger UI below `/docs`. */
export const docsPage =
  (document: OpenApiDocument): FastifyPluginAsync =>
  async (app) => {
    app.addHook('onSend', async (_, reply) => {
      reply.headers({ 'referrer-policy': 'no-referrer', 'x-content-type-options': 'nosniff' });
    });
    await app.register(swagger, { mode: 'static', specification: { document: document as never } });
    await app.register(swaggerUi, {
      routePrefix: '/docs',
      staticCSP: POLICY,
      theme: { title: `${document.info.title} API` },
      uiConfig: {
        layout: 'BaseLayout',
        docExpansion: 'list',
        defaultModelsExpandDepth: 0,
        filter: true,
        plugins: [{ fn: { opsFilter: searchOperations } } as never],
      },
    });
  };
