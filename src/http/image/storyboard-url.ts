import type { FastifyRequest } from 'fastify';
import { lastOf } from '../../api/list-query.js';
import { KinoraError } from '../../lib/errors.js';
import type { Query } from '../stream/viewer-routes.js';

const HOST = /^([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?$/;

/** Address of a storyboard's sheet, with the parameters of the request that belong to it. */
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
  return `${base}/${request.params.playbackId}/storyboard.${format}${query && `?${query}`}`;
};

/** The origin that was asked; a proxy in front that speaks TLS says so. */
const requestedOrigin = ({
  headers,
  protocol,
  host,
}: Pick<FastifyRequest, 'headers' | 'protocol' | 'host'>): string => {
  if (!HOST.test(host)) throw new KinoraError('invalid_parameters', { messages: ['Invalid parameter'] });
  return `${headers['x-forwarded-proto'] === 'https' ? 'https' : protocol}://${host}`;
};
