import { isIPv6 } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../lib/clock.js';
import { KinoraError } from '../../lib/errors.js';
import { createTokenBuckets } from '../../lib/token-bucket.js';

/** Players send at most 500 KB. */
export const BEACON_BODY_BYTES = 512 * 1024;

/** A player sends every 10 s, and a thousand viewers may have one address. */
const RATE = { perSecond: 100, burst: 1000 };

/**
 * Limits the reports of players from each address, which is only kept in memory.
 * @throws KinoraError `too_many_requests`
 */
export const limitBeacons = (clock: Clock) => {
  const take = createTokenBuckets(RATE, clock);
  return async ({ ip }: FastifyRequest, reply: FastifyReply): Promise<void> => {
    allowAllOrigins(reply);
    if (!take(networkOf(ip))) throw new KinoraError('too_many_requests');
  };
};

/** Pages of any origin report, and may read the status. */
export const allowAllOrigins = (reply: FastifyReply): FastifyReply =>
  reply.headers({ 'access-control-allow-origin': '*', 'cache-control': 'no-store' });

/** With IPv6, a customer of a provider has all addresses of a network of 64 bits. */
export const networkOf = (ip: string): string => {
  const [address = ''] = ip.split('%');
  if (!isIPv6(address) || address.includes('.')) return ip;
  const [before = '', after] = address.split('::');
  const groups = before === '' ? [] : before.split(':');
  const last = after ? after.split(':').length : 0;
  if (after !== undefined) groups.push(...Array.from({ length: 8 - groups.length - last }, () => '0'));
  return [...groups, ...(after ? after.split(':') : [])].slice(0, 4).join(':');
};
