import type { FastifyReply, FastifyRequest } from 'fastify';
import { EDGE_HEADER } from '../domain/edge/edge-token.js';
import type { Origin, OriginResponse } from '../net/fetch-origin.js';

/** Of one connection only (RFC 9110, 7.6.1), or set again. */
const NOT_FORWARDED = new Set([
  ...['connection', 'keep-alive', 'transfer-encoding', 'te', 'trailer', 'upgrade', 'proxy-authenticate'],
  ...['proxy-authorization', 'proxy-connection', 'host', 'content-length', 'expect', 'accept-encoding', EDGE_HEADER],
]);
const NOT_RETURNED = new Set([
  ...['connection', 'keep-alive', 'transfer-encoding', 'trailer', 'upgrade', 'x-request-id', 'date'],
]);
/** The headers of a viewer's request as the origin gets them. */
export const forwardedHeaders = (request: FastifyRequest): Record<string, string | string[] | undefined> => ({
  ...Object.fromEntries(Object.entries(request.headers).filter(([name]) => !NOT_FORWARDED.has(name))),
  'x-forwarded-for': request.ip,
  'x-forwarded-host': request.host,
  'x-forwarded-proto': request.protocol,
});

/** The headers of a response as viewers get them. */
export const returnedHeaders = ({ headers }: OriginResponse): Record<string, string | string[]> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || NOT_RETURNED.has(name) ? [] : [[name, value]],
    ),
  );

interface PassOptions {
  /** The response, if it was already fetched. */
  readonly received?: OriginResponse | undefined;
  /** The other server learns that the request is that of an edge, which counts what it sends. */
  readonly namesEdge?: boolean;
}

/**
 * Sends the response of another server to this request.
 * @throws KinoraError `unavailable` when there is no response
 */
export const passThrough = async (
  server: Origin,
  request: FastifyRequest,
  reply: FastifyReply,
  { received, namesEdge = false }: PassOptions = {},
): Promise<FastifyReply> => {
  const { method, url: path, body: sent } = request;
  const edge = namesEdge ? { [EDGE_HEADER]: request.headers[EDGE_HEADER] } : {};
  const headers = { ...forwardedHeaders(request), ...edge };
  const response =
    received ?? (await server.fetch({ method, path, headers, body: Buffer.isBuffer(sent) ? sent : undefined }));
  reply.raw.once('close', () => response.body.destroy());
  return reply.code(response.status).headers(returnedHeaders(response)).send(response.body);
};
