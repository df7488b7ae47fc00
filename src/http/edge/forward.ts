import type { FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../lib/clock.js';
import { isKinoraError, KinoraError } from '../../lib/errors.js';
import { HELD_MS } from '../../lib/ttl-cache.js';
import type { Origin, OriginResponse } from '../../net/fetch-origin.js';
import { forwardedHeaders, passThrough, returnedHeaders } from '../pass-through.js';
import { sendPrepared } from '../stream/send-text.js';

/** With these headers the origin may send 206 or 304, which can't be cached. */
const CONDITIONS = ['range', 'if-range', 'if-none-match', 'if-modified-since', 'if-match', 'if-unmodified-since'];

/** Playlists and images; about what 10,000 of them take. */
const KEPT_BYTES = 64 * 1024 * 1024;
const MAX_KEPT_BYTES = 2 * 1024 * 1024;
/** What is deleted must disappear within a minute. */
const MAX_FRESH_SECONDS = 60;
/** Answers that must be validated each time: many requests of one moment are one. */
const VALIDATED_FRESH_SECONDS = 1;

interface Kept {
  readonly headers: Record<string, string | string[]>;
  readonly type: string;
  readonly etag: string;
  readonly body: Buffer;
  readonly storedAtMs: number;
  readonly freshMs: number;
}

/** How long an answer may be given to others; undefined if it may not be. */
const freshSeconds = (cacheControl: unknown): number | undefined => {
  if (typeof cacheControl !== 'string' || /\b(private|no-store)\b/.test(cacheControl)) return undefined;
  if (/\bno-cache\b/.test(cacheControl)) return VALIDATED_FRESH_SECONDS;
  const maxAge = /\bmax-age=(\d{1,9})\b/.exec(cacheControl)?.[1];
  return maxAge === undefined ? undefined : Math.min(Number(maxAge), MAX_FRESH_SECONDS);
};

/** Sends the origin's answer; small public answers are kept for a moment, and for longer while the origin is unavailable. */
export const createForward = (origin: Origin, clock: Clock) => {
  const kept = new LRUCache<string, Kept>({ maxSize: KEPT_BYTES, sizeCalculation: ({ body }) => body.length + 1000 });
  const inFlight = new Map<string, Promise<Kept | undefined>>();

  const isTooOld = ({ storedAtMs }: Kept): boolean => clock.monotonicMs() - storedAtMs >= HELD_MS;

  const keep = async (response: OriginResponse): Promise<Kept | undefined> => {
    const {
      'cache-control': cacheControl,
      vary,
      etag,
      'content-type': type,
      'content-length': length,
    } = response.headers;
    const seconds = freshSeconds(cacheControl);
    const isKeepable =
      response.status === 200 && seconds !== undefined && vary === undefined && Number(length) <= MAX_KEPT_BYTES;
    if (!isKeepable || typeof etag !== 'string' || typeof type !== 'string') return undefined;
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of response.body as AsyncIterable<Buffer>) chunks.push(chunk);
    } catch (cause) {
      throw new KinoraError('unavailable', { cause, details: { stage: 'origin' } });
    }
    const { 'content-length': _, ...headers } = returnedHeaders(response);
    const storedAtMs = clock.monotonicMs();
    return { headers, type, etag, body: Buffer.concat(chunks), storedAtMs, freshMs: seconds * 1000 };
  };

  const send = (request: FastifyRequest, reply: FastifyReply, { headers, type, etag, body }: Kept): FastifyReply =>
    sendPrepared(request, reply.headers(headers), type, { body, etag, sizeBytes: body.length });

  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (!isRead) return passThrough(origin, request, reply);
    const key = `${request.protocol} ${request.host} ${request.url}`;
    const known = kept.get(key);
    if (known && clock.monotonicMs() < known.storedAtMs + known.freshMs) return send(request, reply, known);
    const running = await inFlight.get(key);
    if (running) return send(request, reply, running);
    // The origin answers with what it is asked for: only a whole answer can be kept.
    if (request.method === 'HEAD' || request.headers.range !== undefined) return passThrough(origin, request, reply);

    const headers = forwardedHeaders(request);
    for (const name of CONDITIONS) delete headers[name];
    let response: OriginResponse | undefined;
    const fetching = (async () => {
      response = await origin.fetch({ method: 'GET', path: request.url, headers });
      if (response.status >= 500 && known) return undefined;
      const made = await keep(response);
      if (made) kept.set(key, made);
      else if (response.status < 500) kept.delete(key);
      return made;
    })();
    // Others that wait find nothing, and ask themselves.
    inFlight.set(
      key,
      fetching.catch(() => undefined),
    );
    try {
      const made = await fetching;
      if (made) return await send(request, reply, made);
    } catch (error) {
      if (!known || !isKinoraError(error, 'unavailable') || isTooOld(known)) throw error;
      return send(request, reply, known);
    } finally {
      inFlight.delete(key);
    }
    if (known && response!.status >= 500 && !isTooOld(known)) {
      response!.body.destroy();
      return send(request, reply, known);
    }
    return passThrough(origin, request, reply, response);
  };
};
