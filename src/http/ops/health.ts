import type { FastifyInstance } from 'fastify';
import type { Logger } from '../../telemetry/logger.js';

const CHECK_LIMIT_MS = 3000;

/** Readiness by name: each resolves while its part works and rejects otherwise. */
export type Checks = Readonly<Record<string, () => Promise<unknown>>>;

/** For load balancers and process supervisors; no credentials. */
export const healthRoutes = (app: FastifyInstance, { checks, logger }: { checks: Checks; logger: Logger }): void => {
  app.get('/healthz', async (_, reply) => reply.header('Cache-Control', 'no-store').send({ status: 'ok' }));

  app.get('/readyz', async (_, reply) => {
    const names = Object.keys(checks);
    const results = await Promise.allSettled(names.map((name) => withTimeout(checks[name]!)));
    const failed = names.filter((_, at) => results[at]!.status === 'rejected');
    results.forEach((result, at) => {
      if (result.status === 'rejected')
        logger.warn({ check: names[at], error: result.reason }, 'readiness check failed');
    });
    reply.header('Cache-Control', 'no-store').code(failed.length === 0 ? 200 : 503);
    return failed.length === 0 ? { status: 'ok' } : { status: 'unavailable', failed };
  });
};

const withTimeout = async (check: () => Promise<unknown>): Promise<unknown> => {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${CHECK_LIMIT_MS} ms`)), CHECK_LIMIT_MS);
  });
  try {
    return await Promise.race([check(), limit]);
  } finally {
    clearTimeout(timer);
  }
};
