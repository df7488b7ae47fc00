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
const CACHE_BYTES = 64 * 1024 * 1024;
const MAX_BODY_BYTES = 2 * 1024 * 1024;
/** What is deleted must disappear within a minute. */
const MAX_FRESH_SECONDS = 60;
/** Responses that must be validated each time: many requests of one moment are one. */
const VALIDATED_FRESH_SECONDS = 1;

/** Media of broadcasts, where it could not be kept: the origin counts each delivery. */
const LIVE_MEDIA = /^\/[^/?]+\/live\/[^/?]+\/[^/?]+\.m4s(\?|$)/;
/** The origin is asked without `Accept-Encoding`, so this selects nothing. */
const isSameForAll = (vary: unknown): boolean =>
  vary === undefined || (typeof vary === 'string' && vary.toLowerCase() === 'accept-encoding');

interface CachedResponse {
  readonly headers: Record<string, string | string[]>;
  readonly type: string;
  readonly etag: string;
  readonly body: Buffer;
  readonly storedAtMs: number;
  readonly freshMs: number;
}

/** How long a response may be sent to others; undefined if it may not be. */
const freshSeconds = (cacheControl: unknown): number | undefined => {
  if (typeof cacheControl !== 'string' || /\b(private|no-store)\b/.test(cacheControl)) return undefined;
  if (/\bno-cache\b/.test(cacheControl)) return VALIDATED_FRESH_SECONDS;
  const maxAge = /\bmax-age=(\d{1,9})\b/.exec(cacheControl)?.[1];
  return maxAge === undefined ? undefined : Math.min(Number(maxAge), MAX_FRESH_SECONDS);
};

/**
 * Sends the origin's responses; small public ones are cached for a moment, and for longer while the
 * origin is unavailable. Requests for a playlist that is still awaited are one at the origin.
 */
export class Forwarder {
  readonly #origin: Origin;
  readonly #clock: Clock;
  readonly #cache = new LRUCache<string, CachedResponse>({
    maxSize: CACHE_BYTES,
    sizeCalculation: ({ body }) => body.length + 1000,
  });
  readonly #inFlight = new Map<string, Promise<CachedResponse | undefined>>();

  constructor(origin: Origin, clock: Clock) {
    this.#origin = origin;
    this.#clock = clock;
  }

  async forward(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (!isRead || LIVE_MEDIA.test(request.url)) return passThrough(this.#origin, request, reply);
    const key = `${request.protocol} ${request.host} ${request.url}`;
    const cached = this.#cache.get(key);
    if (cached && this.#clock.monotonicMs() < cached.storedAtMs + cached.freshMs) return send(request, reply, cached);
    const running = await this.#inFlight.get(key);
    if (running) return send(request, reply, running);
    // The origin sends what it is asked for: only a whole response can be cached.
    if (request.method === 'HEAD' || request.headers.range !== undefined)
      return passThrough(this.#origin, request, reply);
    return this.#refresh(request, reply, key, cached);
  }

  async #refresh(
    request: FastifyRequest,
    reply: FastifyReply,
    key: string,
    cached: CachedResponse | undefined,
  ): Promise<FastifyReply> {
    const headers = forwardedHeaders(request);
    for (const name of CONDITIONS) delete headers[name];
    let response: OriginResponse | undefined;
    const fetching = (async () => {
      response = await this.#origin.fetch({ method: 'GET', path: request.url, headers });
      if (response.status >= 500 && cached) return undefined;
      const fresh = await this.#read(response);
      if (fresh) this.#cache.set(key, fresh);
      else if (response.status < 500) this.#cache.delete(key);
      return fresh;
    })();
    // Others that wait find nothing, and ask themselves.
    this.#inFlight.set(
      key,
      fetching.catch(() => undefined),
    );
    try {
      const fresh = await fetching;
      if (fresh) return await send(request, reply, fresh);
    } catch (error) {
      if (!cached || !isKinoraError(error, 'unavailable') || this.#isTooOld(cached)) throw error;
      return send(request, reply, cached);
    } finally {
      this.#inFlight.delete(key);
    }
    if (cached && response!.status >= 500 && !this.#isTooOld(cached)) {
      response!.body.destroy();
      return send(request, reply, cached);
    }
    return passThrough(this.#origin, request, reply, { received: response });
  }

  /** Undefined for a response that may not be cached; its body is not read then. */
  async #read(response: OriginResponse): Promise<CachedResponse | undefined> {
    const { headers: sent, status } = response;
    const { 'cache-control': cacheControl, vary, etag, 'content-type': type, 'content-length': length } = sent;
    const seconds = freshSeconds(cacheControl);
    const isCacheable =
      status === 200 && seconds !== undefined && isSameForAll(vary) && Number(length) <= MAX_BODY_BYTES;
    if (!isCacheable || typeof etag !== 'string' || typeof type !== 'string') return undefined;
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of response.body as AsyncIterable<Buffer>) chunks.push(chunk);
    } catch (cause) {
      throw new KinoraError('unavailable', { cause, details: { stage: 'origin' } });
    }
    const { 'content-length': _, ...headers } = returnedHeaders(response);
    const storedAtMs = this.#clock.monotonicMs();
    return { headers, type, etag, body: Buffer.concat(chunks), storedAtMs, freshMs: seconds * 1000 };
  }

  #isTooOld({ storedAtMs }: CachedResponse): boolean {
    return this.#clock.monotonicMs() - storedAtMs >= HELD_MS;
  }
}

const send = (
  request: FastifyRequest,
  reply: FastifyReply,
  { headers, type, etag, body }: CachedResponse,
): FastifyReply => sendPrepared(request, reply.headers(headers), type, { body, etag, sizeBytes: body.length });
