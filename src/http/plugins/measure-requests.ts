import type { FastifyInstance } from 'fastify';
import type { Metrics } from '../../telemetry/metrics.js';

export const measureRequests = (app: FastifyInstance, metrics: Metrics): void => {
  app.addHook('onResponse', async (request, reply) => {
    metrics.requestEnded({
      method: request.method,
      route: request.routeOptions.url ?? 'unknown',
      status: reply.statusCode,
      durationMs: reply.elapsedTime,
    });
  });
};
