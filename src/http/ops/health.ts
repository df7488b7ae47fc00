import type { FastifyInstance } from 'fastify';
import pTimeout from 'p-timeout';
import type { Logger } from '../../telemetry/logger.js';

const LIMIT = { milliseconds: 3000, message: 'no answer within 3000 ms' };

/** Readiness checks by name: each resolves while its part works and rejects otherwise. */
export type Checks = Readonly<Record<string, () => Promise<unknown>>>;

/** For load balancers and process supervisors; no credentials. */
export const healthRoutes = (app: FastifyInstance, { checks, logger }: { checks: Checks; logger: Logger }): void => {
  app.get('/healthz', async (_, reply) => reply.header('Cache-Control', 'no-store').send({ status: 'ok' }));

  app.get('/readyz', async (_, reply) => {
    const names = Object.keys(checks);
    const results = await Promise.allSettled(names.map((name) => pTimeout(checks[name]!(), LIMIT)));
    const failed = names.filter((_, at) => results[at]!.status === 'rejected');
    results.forEach((result, at) => {
      if (result.status === 'rejected')
        logger.warn({ check: names[at], error: result.reason }, 'readiness check failed');
    });
    reply.header('Cache-Control', 'no-store').code(failed.length === 0 ? 200 : 503);
    return failed.length === 0 ? { status: 'ok' } : { status: 'unavailable', failed };
  });
};
