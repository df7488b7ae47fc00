import { createServer } from 'node:http';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { newUuid } from '../../lib/ids.js';
import type { Logger } from '../../telemetry/logger.js';
import { frameworkLogger } from './framework-logger.js';
import { rejectHost, responseMalformed } from './malformed-requests.js';
import { parseQuery } from './parse-query.js';
import { setCommonHeaders } from './request-log.js';
import { takeTurns } from './take-turns.js';

interface HttpAppOptions {
  readonly logger: Logger;
  readonly trustedProxies?: boolean | readonly string[];
}

/**
 * As long as a request line can be, so that an over-long ID is an unknown ID and not another kind
 * of error.
 */
const MAX_PARAM_LENGTH = 16 * 1024;

/** An app without routes. `sendNotFound` answers what no route can be found for. */
export const createHttpApp = (
  { logger, trustedProxies }: HttpAppOptions,
  bodyLimit: number,
  sendNotFound: (request: FastifyRequest, reply: FastifyReply) => unknown,
): FastifyInstance =>
  fastify({
    loggerInstance: frameworkLogger(logger),
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    bodyLimit,
    genReqId: newUuid,
    // Our plugins wait for nothing. On a busy machine the default of 10 s would fail the start.
    pluginTimeout: 0,
    // A request over a connection that a proxy had kept open arrives while the server closes it.
    return503OnClosing: false,
    trustProxy: typeof trustedProxies === 'object' ? [...trustedProxies] : (trustedProxies ?? false),
    serverFactory: (handle, { keepAliveTimeout, requestTimeout }) =>
      Object.assign(createServer({ requireHostHeader: false }, takeTurns(handle)), {
        keepAliveTimeout,
        requestTimeout,
      }),
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: MAX_PARAM_LENGTH, querystringParser: parseQuery },
    // Only paths with invalid percent-encoding get here.
    frameworkErrors: (_, request, reply) => {
      setCommonHeaders(request, reply);
      return rejectHost(request, reply) ?? sendNotFound(request, reply);
    },
    clientErrorHandler: responseMalformed,
  });
