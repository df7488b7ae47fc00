import type { FastifyRequest } from 'fastify';
import { lastOf } from '../../api/validate/list-query.js';
import type { Query } from '../stream/viewer-routes.js';

/**
 * URL of a storyboard's sheet, with the parameters of the request that belong to it. Relative without `imageUrl`: caches keep
 * a storyboard for all, so it must not repeat the host that one client asked for.
 */
export const storyboardUrl = (
  request: FastifyRequest<{ Params: { playbackId: string }; Querystring: Query }>,
  imageUrl: string | undefined,
  format: string,
  parameters: readonly string[],
): string => {
  const given = parameters.flatMap((name) => {
    const value = lastOf(request.query[name]);
    return value ? [[name, value] as [string, string]] : [];
  });
  const query = new URLSearchParams(given).toString();
  const base = imageUrl === undefined ? '' : `${imageUrl}/${request.params.playbackId}/`;
  return `${base}storyboard.${format}${query && `?${query}`}`;
};
