import type { FastifyRequest } from 'fastify';

/** Whether a response may be compressed with gzip (RFC 9110, 12.5.3). */
export const acceptsGzip = ({ headers }: FastifyRequest): boolean =>
  /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/.test(String(headers['accept-encoding'] ?? ''));
