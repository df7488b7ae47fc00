import type { FastifyRequest } from 'fastify';

const HOST = /^([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?$/;

/** The origin that was asked, or the one that a trusted proxy says was. Undefined when the host name is none. */
export const requestedOrigin = ({ protocol, host }: Pick<FastifyRequest, 'protocol' | 'host'>): string | undefined =>
  HOST.test(host) && /^https?$/.test(protocol) ? `${protocol}://${host}` : undefined;
