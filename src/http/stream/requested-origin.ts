import type { FastifyRequest } from 'fastify';

const HOST = /^([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?$/;

/**
 * The requested origin, or the one that a trusted proxy reports. Undefined for an invalid host
 * name.
 */
export const requestedOrigin = ({ protocol, host }: Pick<FastifyRequest, 'protocol' | 'host'>): string | undefined =>
  HOST.test(host) && /^https?$/.test(protocol) ? `${protocol}://${host}` : undefined;
