import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isApiPath, routedPath } from './api-paths.js';
import { isReading } from './reading-methods.js';

/**
 * Tells whether a request would change what can only be read at a path without parameters, such as `/healthz`. Knows the
 * routes that are added after this call.
 */
export const findPageCalls = (app: FastifyInstance): ((request: FastifyRequest) => boolean) => {
  const pages = new Set<string>();
  app.addHook('onRoute', ({ method, url }) => {
    if (method === 'GET' && !/[:*]/.test(url) && !isApiPath(url)) pages.add(url);
  });
  return ({ method, url }) => !isReading(method) && pages.has(routedPath(url).replace(/(?<=.)\/$/, ''));
};
