import type { FastifyRequest } from 'fastify';

const HOST = /^([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?$/;

/** The origin that was asked; a proxy in front that speaks TLS says so. Undefined when the host name is none. */
export const requestedOrigin = ({
  headers,
  protocol,
  host,
}: Pick<FastifyRequest, 'headers' | 'protocol' | 'host'>): string | undefined =>
  HOST.test(host) ? `${headers['x-forwarded-proto'] === 'https' ? 'https' : protocol}://${host}` : undefined;
