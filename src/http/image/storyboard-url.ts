import type { FastifyRequest } from 'fastify';
import { lastOf } from '../../api/list-query.js';
import { KinoraError } from '../../lib/errors.js';
import { requestedOrigin } from '../stream/requested-origin.js';
import type { Query } from '../stream/viewer-routes.js';

/**
 * Address of a storyboard's sheet, with the parameters of the request that belong to it.
 * @throws KinoraError `invalid_parameters` when the host name of the request is none
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
  const base = imageUrl ?? requestedOrigin(request);
  if (base === undefined) throw new KinoraError('invalid_parameters', { messages: ['Invalid parameter'] });
  return `${base}/${request.params.playbackId}/storyboard.${format}${query && `?${query}`}`;
};
