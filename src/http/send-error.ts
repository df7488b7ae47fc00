import type { FastifyReply, FastifyRequest } from 'fastify';
import { isApiPath } from './plugins/api-paths.js';
import { errorResponse, robotsErrorResponse, toKinoraError } from './plugins/errors.js';
import { logFailure } from './plugins/log-failure.js';
import { isReading } from './plugins/reading-methods.js';
import { playbackError, sendPlaybackError } from './stream/playback-error.js';

/**
 * Sends an error in the format that its caller expects: that of the API, or that of viewers.
 * @param isPageCall see `findPageCalls`
 */
export const sendError = (
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  isPageCall: boolean,
): FastifyReply => {
  const shown = toKinoraError(error);
  if (!isPageCall && !isApiCall(shown.code, request)) {
    logError(request, error, playbackError(shown).status);
    return sendPlaybackError(reply, shown);
  }
  const { isRobots } = request.routeOptions.config;
  const { status, headers, body } = isRobots ? robotsErrorResponse(shown) : errorResponse(shown);
  logError(request, error, status);
  return reply
    .code(status)
    .headers({ ...headers, 'Cache-Control': 'no-store' })
    .send(body);
};

const isApiCall = (code: string, { method, url, routeOptions }: FastifyRequest): boolean => {
  if (isApiPath(url)) return true;
  // A client that tries to change something non-existent meant the API, because viewers only read.
  const isViewer = isReading(method) || routeOptions.config.takesChallenges === true;
  return code === 'not_found' && !isViewer;
};

const logError = (request: FastifyRequest, error: unknown, status: number): void => {
  const isIncomplete = request.raw.destroyed && !request.raw.complete;
  if (isIncomplete) request.log.debug({ error }, 'client disconnected before its request was complete');
  else logFailure(request.log, error, status);
};
