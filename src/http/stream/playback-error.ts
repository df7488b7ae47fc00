import type { FastifyReply } from 'fastify';
import type { ErrorCode } from '../../lib/errors.js';
import { errorHeaders, toKinoraError } from '../plugins/errors.js';

/** The stream and image hosts' response to a failure. */
export interface PlaybackError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly code: number; readonly message: string };
}

/** Codes are those of `google.rpc.Code`. Failures of other kinds are not the viewer's. */
const playbackCodes: Partial<Record<ErrorCode, number>> = {
  invalid_parameters: 3,
  forbidden: 7,
  not_found: 5,
  method_not_allowed: 12,
  asset_not_ready: 9,
  range_not_satisfiable: 11,
  payload_too_large: 3,
  unsupported_media_type: 3,
  request_timeout: 4,
  too_many_requests: 8,
  unavailable: 14,
  upstream_refused: 14,
};

/** In place of those of the API. */
const playbackMessages: Partial<Record<ErrorCode, string>> = {
  not_found: 'Not Found',
  unsupported_media_type: 'Content-Type is not a valid media type',
};

/**
 * Failures that are not meant for viewers become an internal error that does not reveal its cause.
 */
export const playbackError = (error: unknown): PlaybackError => {
  const shown = toKinoraError(error);
  const code = playbackCodes[shown.code];
  if (code === undefined) return { status: 500, headers: {}, body: { code: 13, message: 'Internal error' } };
  const message = playbackMessages[shown.code] ?? shown.messages[0]!;
  return { status: shown.status, headers: errorHeaders(shown), body: { code, message } };
};

export const sendPlaybackError = (reply: FastifyReply, error: unknown): FastifyReply => {
  const response = playbackError(error);
  // The headers of the file that could not be sent would keep the failure in caches.
  const wasPrivate = String(reply.getHeader('Cache-Control')).startsWith('private');
  return reply
    .code(response.status)
    .headers({ ...response.headers, 'Access-Control-Allow-Origin': '*' })
    .header('Cache-Control', wasPrivate ? 'private, no-cache' : 'no-cache')
    .send(response.body);
};
