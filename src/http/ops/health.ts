import type { FastifyInstance } from 'fastify';
import pTimeout from 'p-timeout';
import type { Clock } from '../../lib/clock.js';
import type { Logger } from '../../telemetry/logger.js';

const LIMIT = { milliseconds: 3000, message: 'no answer within 3000 ms' };

/** Readiness checks by name: each resolves while its part works and rejects otherwise. */
export type Checks = Readonly<Record<string, () => Promise<unknown>>>;

/**
 * How long a check may fail, in milliseconds, before the server is not ready any more; 0 when
 * absent.
 */
export type Tolerances = Readonly<Record<string, number>>;

interface HealthDeps {
  readonly checks: Checks;
  readonly tolerances?: Tolerances;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** For load balancers and process supervisors; no credentials. */
export const healthRoutes = (app: FastifyInstance, deps: HealthDeps): void => {
  const { checks, tolerances = {}, clock, logger } = deps;
  const failingSinceMs = new Map<string, number>();

  app.get('/healthz', async (_, reply) => reply.header('Cache-Control', 'no-store').send({ status: 'ok' }));

  app.get('/readyz', async (_, reply) => {
    const names = Object.keys(checks);
    const results = await Promise.allSettled(names.map((name) => pTimeout(checks[name]!(), LIMIT)));
    const failed = names.filter((_, at) => results[at]!.status === 'rejected');
    results.forEach((result, at) => {
      const name = names[at]!;
      if (result.status === 'fulfilled') failingSinceMs.delete(name);
      else {
        if (!failingSinceMs.has(name)) failingSinceMs.set(name, clock.monotonicMs());
        logger.warn({ check: name, error: result.reason }, 'readiness check failed');
      }
    });
    const isTolerated = (name: string): boolean =>
      clock.monotonicMs() - failingSinceMs.get(name)! < (tolerances[name] ?? 0);
    const isReady = failed.every(isTolerated);
    reply.header('Cache-Control', 'no-store').code(isReady ? 200 : 503);
    if (failed.length === 0) return { status: 'ok' };
    return { status: isReady ? 'degraded' : 'unavailable', failed };
  });
};
