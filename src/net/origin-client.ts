import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { Readable } from 'node:stream';
import { cancelled } from '../lib/abort.js';
import { KinoraError } from '../lib/errors.js';
import { withStallLimit } from '../lib/stall-limit.js';
import type { Origin } from './fetch-origin.js';

/** The limit of silence begins only with the connection. */
const CONNECT_LIMIT_MS = 10_000;
/** The first viewer of a segment waits until it is encoded. */
const RESPONSE_LIMIT_MS = 120_000;
/**
 * The longest time without a byte of a body, while its reader waits: the origin may read it from a
 * store that is slow.
 */
const BODY_STALL_MS = 20_000;
/** A connection that the origin closes at the same moment is tried again. */
const TRIES = 2;

/**
 * Keeps connections to one origin open. The body of a response fails when it stalls, for 20 s by
 * default.
 */
export const createOriginClient = (
  baseUrl: string,
  { bodyStallMs = BODY_STALL_MS, connectLimitMs = CONNECT_LIMIT_MS } = {},
): Origin => {
  const base = new URL(baseUrl);
  const prefix = base.pathname.replace(/\/$/, '');
  const isSecure = base.protocol === 'https:';
  const agent = new (isSecure ? HttpsAgent : HttpAgent)({ keepAlive: true });

  const send = (request: Parameters<Origin['fetch']>[0]): Promise<{ response: IncomingMessage }> =>
    new Promise((resolve, reject) => {
      const { method, path, headers, body, signal } = request;
      const definedHeaders = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
      const sizes = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
      const sent = (isSecure ? httpsRequest : httpRequest)({
        ...{ agent, method, host: base.hostname.replace(/^\[|\]$/g, ''), path: prefix + path },
        ...(base.port && { port: base.port }),
        ...(signal && { signal }),
        headers: { ...definedHeaders, ...sizes, host: base.host } as OutgoingHttpHeaders,
      });
      sent.setTimeout(RESPONSE_LIMIT_MS, () => sent.destroy(new Error('the origin did not answer in time')));
      const unconnected = setTimeout(() => sent.destroy(new Error('no connection in time')), connectLimitMs);
      sent.once('close', () => clearTimeout(unconnected));
      sent.once('socket', (socket) => {
        if (sent.reusedSocket) clearTimeout(unconnected);
        else socket.once(isSecure ? 'secureConnect' : 'connect', () => clearTimeout(unconnected));
      });
      sent.once('response', (response) => resolve({ response }));
      sent.on('error', (error) => reject(Object.assign(error, { wasReused: sent.reusedSocket })));
      sent.end(body);
    });

  return {
    async fetch(request) {
      for (let tries = 1; ; tries++) {
        try {
          const { response } = await send(request);
          return { status: response.statusCode!, headers: response.headers, body: limitBody(response, bodyStallMs) };
        } catch (cause) {
          if (request.signal?.aborted) throw cancelled(request.signal, cause);
          const { code, wasReused } = cause as NodeJS.ErrnoException & { wasReused?: boolean };
          if (wasReused && code === 'ECONNRESET' && tries < TRIES) continue;
          throw new KinoraError('unavailable', { cause, details: { stage: 'origin' } });
        }
      }
    },
    stop: () => agent.destroy(),
  };
};

const limitBody = (response: IncomingMessage, stallMs: number): Readable => {
  const body = Readable.from(withStallLimit(response as AsyncIterable<Buffer>, stallMs), { objectMode: false });
  // Closing early makes both fail after their reader has left.
  for (const each of [response, body]) each.on('error', () => undefined);
  // At once, and not when the next bytes arrive.
  body.once('close', () => response.destroy());
  return body;
};
