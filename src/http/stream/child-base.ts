import type { FastifyRequest } from 'fastify';
import { pathOf } from '../plugins/api-paths.js';

/**
 * What precedes the URLs in a multivariant playlist. Relative, so that a proxy may put everything
 * below a path of its own.
 */
export const childBase = (request: FastifyRequest, playbackId: string): string =>
  pathOf(request.url).endsWith('/') ? `../${playbackId}/` : `${playbackId}/`;
