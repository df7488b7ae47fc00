import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isApiPath, routedPath } from './api-paths.js';
import { isReading } from './reading-methods.js';

/**
 * Detects requests that try to change a read-only path without parameters, such as `/healthz`.
 * Considers the routes that are added after this call.
 */
export const findPageCalls = (app: FastifyInstance): ((request: FastifyRequest) => boolean) => {
  const pages = new Set<string>();
  const calls = new Set<string>();
  app.addHook('onRoute', ({ method, url }) => {
    if (typeof method === 'string' && !isReading(method)) calls.add(`${method} ${url}`);
    if (method === 'GET' && !/[:*]/.test(url) && !isApiPath(url) && !url.startsWith('/console/api/')) pages.add(url);
  });
  return ({ method, url }) => {
    if (isReading(method)) return false;
    const path = routedPath(url).replace(/(?<=.)\/$/, '');
    return pages.has(path) && !calls.has(`${method} ${path}`);
  };
};
