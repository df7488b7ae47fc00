import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../lib/clock.js';
import { KinoraError } from '../../lib/errors.js';
import type { Logger } from '../../telemetry/logger.js';
import type { Metrics } from '../../telemetry/metrics.js';
import { type Checks, healthRoutes, type Tolerances } from '../ops/health.js';
import { isApiPath, routedPath } from '../plugins/api-paths.js';
import { createHttpApp } from '../plugins/create-http-app.js';
import { errorResponse, toKinoraError } from '../plugins/errors.js';
import { BEACON_BODY_BYTES, limitBeacons } from '../plugins/limit-beacons.js';
import { logFailure } from '../plugins/log-failure.js';
import { rejectHost } from '../plugins/malformed-requests.js';
import { measureRequests } from '../plugins/measure-requests.js';
import { isReading } from '../plugins/reading-methods.js';
import { discardUnread, limitReceiving, limitStall } from '../plugins/receive-limit.js';
import { logRequests } from '../plugins/request-log.js';
import { usePartBuffers } from '../stream/part-buffers.js';
import { playbackError, sendPlaybackError } from '../stream/playback-error.js';
import { type EdgeSegmentDeps, edgeSegments } from './edge-segments.js';
import { Forwarder } from './forward.js';

export interface EdgeDeps extends EdgeSegmentDeps {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly trustedProxies?: boolean | readonly string[];
  readonly checks: Checks;
  readonly tolerances: Tolerances;
}

const REQUEST_TIMEOUT_MS = 60_000;
/** License challenges have a few KiB. */
const BODY_LIMIT_BYTES = 64 * 1024;
/** Uploads, the console, API documentation, and what the origin answers to edges. */
const NOT_PLAYBACK = /^\/(u|tus|console|docs|openapi\.json|edge)(\/|$)/;
/** Challenges, and what players report. */
const FORWARDED = /^\/(license\/|$)/;

/** Everything that viewers request: segments from the cache, the rest from the origin. */
export const createEdgeApp = (deps: EdgeDeps): FastifyInstance => {
  const isRejected = ({ url, method }: FastifyRequest): boolean =>
    isApiPath(url) ||
    NOT_PLAYBACK.test(routedPath(url)) ||
    !(isReading(method) || method === 'OPTIONS' || (method === 'POST' && FORWARDED.test(routedPath(url))));
  const sendError = (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const shown = toKinoraError(error);
    if (!isRejected(request)) {
      logFailure(request.log, error, playbackError(shown).status);
      return sendPlaybackError(reply, shown);
    }
    const { status, headers, body } = errorResponse(shown);
    logFailure(request.log, error, status);
    return reply
      .code(status)
      .headers({ ...headers, 'Cache-Control': 'no-store' })
      .send(body);
  };
  const app = createHttpApp(deps, BODY_LIMIT_BYTES, (request, reply) =>
    sendError(new KinoraError('not_found'), request, reply),
  );
  app.setErrorHandler(sendError);
  logRequests(app, deps.logger);
  measureRequests(app, deps.metrics);
  app.addHook('onRequest', (request, reply, done) => {
    if (rejectHost(request, reply)) return;
    if (isRejected(request)) {
      const message =
        'This server delivers playback only. Send requests to the API and uploads to the server behind it.';
      throw new KinoraError('not_found', { messages: [message] });
    }
    done();
  });
  limitReceiving(app, REQUEST_TIMEOUT_MS);
  discardUnread(app);
  app.addHook('onSend', (_, reply, _payload, done) => {
    limitStall(reply.raw);
    done();
  });
  usePartBuffers(app);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async (_: unknown, body: Buffer) => body);

  const forwarder = new Forwarder(deps.origin, deps.clock);
  const forward = (request: FastifyRequest, reply: FastifyReply) => forwarder.forward(request, reply);
  healthRoutes(app, deps);
  app.register(async (scope) => edgeSegments(scope, deps, forward));
  app.post('/', { bodyLimit: BEACON_BODY_BYTES, onRequest: limitBeacons(deps.clock) }, forward);
  app.all('/*', forward);
  return app;
};
