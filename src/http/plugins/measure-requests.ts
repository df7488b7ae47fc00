import type { FastifyInstance } from 'fastify';
import type { Metrics } from '../../telemetry/metrics.js';
import { whenClosed } from './when-closed.js';

const SENDS_FILE: ReadonlySet<string> = new Set(['PUT', 'POST', 'PATCH']);

export const measureRequests = (app: FastifyInstance, metrics: Metrics): void => {
  app.addHook('onRequest', async ({ method, routeOptions }, reply) => {
    if (!routeOptions.config.receivesFiles || !SENDS_FILE.has(method)) return;
    metrics.uploadsInFlight(1);
    whenClosed(reply.raw, () => metrics.uploadsInFlight(-1));
  });
  app.addHook('onResponse', async (request, reply) => {
    metrics.requestEnded({
      method: request.method,
      route: request.routeOptions.url ?? 'unknown',
      status: reply.statusCode,
      durationMs: reply.elapsedTime,
    });
  });
};
