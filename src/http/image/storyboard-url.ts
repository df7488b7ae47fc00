import type { FastifyRequest } from 'fastify';
import { lastOf } from '../../lib/last-of.js';
import type { Query } from '../stream/viewer-routes.js';

/**
 * The URL of a storyboard's sprite sheet, with the relevant parameters of the request. Relative
 * without `imageUrl`: caches store one storyboard for all clients, so it must not contain one
 * client's host name.
 */
export const storyboardUrl = (
  request: FastifyRequest<{ Params: { playbackId: string }; Querystring: Query }>,
  imageUrl: string | undefined,
  format: string,
  parameters: readonly string[],
): string => {
  const modifiers = parameters.flatMap((name) => {
    const value = lastOf(request.query[name]);
    return value ? [[name, value] as [string, string]] : [];
  });
  const query = new URLSearchParams(modifiers).toString();
  const base = imageUrl === undefined ? '' : `${imageUrl}/${request.params.playbackId}/`;
  return `${base}storyboard.${format}${query && `?${query}`}`;
};
