import type { FastifyInstance } from 'fastify';
import type { Metrics } from '../../telemetry/metrics.js';
import { whenClosed } from './when-closed.js';

const SENDS_FILE: ReadonlySet<string> = new Set(['PUT', 'POST', 'PATCH']);

export const measureRequests = (app: FastifyInstance, metrics: Metrics): void => {
  app.addHook('onRequest', ({ method, routeOptions }, reply, done) => {
    if (routeOptions.config.receivesFiles && SENDS_FILE.has(method)) {
      metrics.uploadsInFlight(1);
      whenClosed(reply.raw, () => metrics.uploadsInFlight(-1));
    }
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    metrics.requestEnded({
      method: request.method,
      route: request.routeOptions.url ?? 'unknown',
      status: reply.statusCode,
      durationMs: reply.elapsedTime,
    });
    done();
  });
};
