import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import type { Clock } from '../lib/clock.js';
import { KinoraError } from '../lib/errors.js';
import { createLinkedAbort } from '../lib/linked-abort.js';
import { pinnedLookup, type Resolve, type ResolvedAddress, resolveHost } from './resolve-host.js';
import { timedOut, unreachable } from './unreachable.js';

export interface GuardedGetOptions {
  readonly isAllowedAddress: (address: string) => boolean;
  /** Exact URLs that are fetched whatever their address. */
  readonly allowedUrls: ReadonlySet<string>;
  readonly userAgent: string;
  readonly clock: Clock;
  /** Replaces the system's name resolution. */
  readonly resolve?: Resolve;
  /**
   * The longest time without data from the origin; headers may take twice as long. 30 s by default.
   */
  readonly idleLimitMs?: number;
}

export interface GuardedResponse {
  readonly status: number;
  /** The first value of a header, by its lower-case name. */
  header(name: string): string | undefined;
  /** Failures are `source_unreachable`. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Ends the connection. Must be called. */
  close(): Promise<void>;
}

const MAX_REDIRECTS = 5;
const CONNECT_LIMIT_MS = 10_000;

/** @param cause only for the log and administrators */
const notAllowed = (reason: string, cause?: Error): KinoraError =>
  new KinoraError('invalid_input', { messages: ['The input URL is not allowed.'], details: { reason }, cause });

const basicCredentials = (url: URL): string | undefined => {
  if (url.username === '' && url.password === '') return undefined;
  const decode = (text: string): string => {
    try {
      return decodeURIComponent(text);
    } catch {
      // A stray percent sign: the text is meant literally.
      return text;
    }
  };
  return `Basic ${Buffer.from(`${decode(url.username)}:${decode(url.password)}`).toString('base64')}`;
};

const parseUrl = (text: string, base?: URL): URL | undefined => {
  try {
    return new URL(text, base);
  } catch {
    // Not passed on as a cause: the error repeats the text, which may contain a password.
    return undefined;
  }
};

interface Opening {
  readonly lookup: LookupFunction;
  readonly headers: Record<string, string>;
  readonly signal: AbortSignal;
  readonly connectLimitMs: number;
  readonly idleLimitMs: number;
}

const openResponse = (url: URL, { connectLimitMs, idleLimitMs, ...options }: Opening): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const secure = url.protocol === 'https:';
    const request = (secure ? httpsRequest : httpRequest)(url, { ...options, agent: false });
    const tooSlow = setTimeout(() => request.destroy(timedOut('No connection in time')), connectLimitMs);
    request.once('socket', (socket) => socket.once(secure ? 'secureConnect' : 'connect', () => clearTimeout(tooSlow)));
    // Every byte resets the idle limit, so headers that arrive byte by byte need a separate limit.
    const tooLate = setTimeout(() => request.destroy(timedOut('No answer in time')), 2 * idleLimitMs);
    request.once('response', () => clearTimeout(tooLate));
    request.once('close', () => {
      clearTimeout(tooSlow);
      clearTimeout(tooLate);
    });
    // After the headers, the reader of the body is told the cause.
    let reading: { destroy(error: Error): unknown } = request;
    request.setTimeout(idleLimitMs, () => reading.destroy(timedOut('The origin fell silent')));
    request.once('response', (response) => {
      reading = response;
      resolve(response);
    });
    // The connection no longer speaks HTTP: without a listener, the request would never settle.
    request.once('upgrade', (_, socket) => {
      socket.destroy();
      reject(new Error('The origin switched protocols'));
    });
    // Stays for the life of the request: later failures reach the reader of the body.
    request.on('error', reject);
    request.end();
  });

/**
 * A GET request that can't reach forbidden addresses. Literal hosts are checked directly, names by
 * every address they resolve to, and the connection uses those same addresses, so that a second DNS
 * answer has no effect. Every redirect (at most five) is checked again; credentials are only sent
 * to their origin. The function throws KinoraError `invalid_input` for refused requests and
 * `source_unreachable` for network failures.
 */
export const createGuardedGet = (options: GuardedGetOptions) => {
  const { idleLimitMs = 30_000 } = options;

  const addressesOf = async (url: URL, signal: AbortSignal): Promise<readonly ResolvedAddress[]> => {
    using limited = createLinkedAbort(signal, CONNECT_LIMIT_MS);
    const addresses = await resolveHost(url, limited.signal, options.resolve);
    if (!options.allowedUrls.has(url.href) && !addresses.every(({ address }) => options.isAllowedAddress(address))) {
      const advice = '--allow-private-sources (KINORA_ALLOW_PRIVATE_SOURCES) allows private ones';
      throw notAllowed('address', new Error(`${url.host} has an address that is not allowed; ${advice}`));
    }
    return addresses;
  };

  const getOnce = async (url: URL, headers: Record<string, string>, signal: AbortSignal): Promise<GuardedResponse> => {
    if (url.protocol !== 'http:' && url.protocol !== 'https:') throw notAllowed('protocol');
    const startedMs = options.clock.monotonicMs();
    const addresses = await addressesOf(url, signal);
    const connectLimitMs = Math.max(1, CONNECT_LIMIT_MS - (options.clock.monotonicMs() - startedMs));
    const bare = new URL(url);
    bare.username = '';
    bare.password = '';
    const lookup = pinnedLookup(addresses);
    const response = await openResponse(bare, { lookup, headers, signal, connectLimitMs, idleLimitMs });
    // Closing early makes the body fail after its reader has left.
    response.on('error', () => undefined);
    return {
      status: response.statusCode!,
      header: (name) => [response.headers[name]].flat()[0],
      body: bytesOf(response),
      close: async () => void response.destroy(),
    };
  };

  return async (start: string, headers: Record<string, string>, signal: AbortSignal): Promise<GuardedResponse> => {
    const first = parseUrl(start);
    if (first === undefined) throw notAllowed('not a URL');
    let url: URL = first;
    let authorization = basicCredentials(url);
    for (let redirects = 0; ; redirects += 1) {
      const response: GuardedResponse = await getOnce(
        url,
        {
          'user-agent': options.userAgent,
          accept: '*/*',
          'accept-encoding': 'identity',
          ...headers,
          ...(authorization === undefined ? {} : { authorization }),
        },
        signal,
      ).catch((error: unknown) => {
        throw unreachable(error);
      });
      const location: string | undefined = [301, 302, 303, 307, 308].includes(response.status)
        ? response.header('location')
        : undefined;
      const next: URL | undefined = location === undefined ? undefined : parseUrl(location, url);
      if (next === undefined || redirects === MAX_REDIRECTS) return response;
      await response.close();
      authorization = basicCredentials(next) ?? (next.origin === url.origin ? authorization : undefined);
      url = next;
    }
  };
};

async function* bytesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw unreachable(error);
  }
}
