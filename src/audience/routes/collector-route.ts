import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { allowAllOrigins, BEACON_BODY_BYTES, limitBeacons } from '../../http/plugins/limit-beacons.js';
import type { Clock } from '../../lib/clock.js';
import { KinoraError } from '../../lib/errors.js';
import type { ViewCollector } from '../beacons/view-collector.js';

interface CollectorRouteDeps {
  readonly collector: Pick<ViewCollector, 'receive'>;
  readonly clock: Clock;
  /** The only host that players report to; every one when absent. */
  readonly dataHost: string | undefined;
  /** In lower case. */
  readonly countryHeader: string | undefined;
}

const MAX_AGE_SECONDS = 86_400;
const COUNTRY = /^(?!XX)[A-Z]{2}$/;

/** What players report, at the root of the host. It sets no cookie and needs no credentials. */
export const collectorRoute =
  ({ collector, clock, dataHost, countryHeader }: CollectorRouteDeps): FastifyPluginAsync =>
  async (app) => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', { parseAs: 'buffer' }, async (_: unknown, body: Buffer) => body);
    const checkHost = async ({ hostname }: FastifyRequest): Promise<void> => {
      if (dataHost !== undefined && hostname.toLowerCase() !== dataHost.toLowerCase())
        throw new KinoraError('not_found');
    };
    const countryOf = (request: FastifyRequest): string | undefined => {
      // Several addresses: a trusted proxy named the last one.
      if (countryHeader === undefined || (request.ips?.length ?? 0) < 2) return undefined;
      const value = String(request.headers[countryHeader] ?? '').toUpperCase();
      return COUNTRY.test(value) ? value : undefined;
    };
    app.post<{ Body: Buffer | undefined }>(
      '/',
      { bodyLimit: BEACON_BODY_BYTES, onRequest: [checkHost, limitBeacons(clock)] },
      async (request, reply) => {
        const { body, headers } = request;
        await collector.receive(body ?? new Uint8Array(), {
          userAgent: headers['user-agent'],
          country: countryOf(request),
        });
        return reply.code(200).send();
      },
    );
    app.options('/', { onRequest: checkHost }, async (_, reply) =>
      allowAllOrigins(reply)
        .code(204)
        .headers({ 'access-control-allow-methods': 'POST', 'access-control-allow-headers': 'Content-Type' })
        .header('access-control-max-age', MAX_AGE_SECONDS)
        .send(),
    );
  };
