import { KinoraError } from '../lib/errors.js';
import { HttpClient, type HttpResponse } from './http-client.js';
import type { Resolve } from './resolve-host.js';
import { unreachable } from './unreachable.js';

export interface GuardedGetOptions {
  readonly isAllowedAddress: (address: string) => boolean;
  /** Exact URLs that are fetched whatever their address. */
  readonly allowedUrls: ReadonlySet<string>;
  readonly userAgent: string;
  /** Replaces the system's name resolution. */
  readonly resolve?: Resolve;
  /**
   * The longest time without data from the origin; headers may take twice as long. 30 s by default.
   */
  readonly idleLimitMs?: number;
}

export class GuardedResponse {
  readonly status: number;
  /** Failures are `source_unreachable`. */
  readonly body: AsyncIterable<Uint8Array>;

  constructor(private readonly response: HttpResponse) {
    this.status = response.status;
    this.body = bytesOf(response.body);
  }

  /** The first value of a header, by its lower-case name. */
  header(name: string): string | undefined {
    return this.response.header(name);
  }

  /** Ends the connection. Must be called. */
  close(): void {
    this.response.close();
  }
}

const MAX_REDIRECTS = 5;
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

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

/**
 * A GET request that can't reach forbidden addresses. Literal hosts are checked directly, names by
 * every address they resolve to. Every redirect (at most five) is checked again; credentials are
 * only sent to their origin.
 */
export class GuardedGet {
  private readonly client: HttpClient;

  constructor(private readonly options: GuardedGetOptions) {
    const { idleLimitMs = 30_000, resolve } = options;
    this.client = new HttpClient({
      peer: 'origin',
      messages: { silenceMs: 'The origin fell silent', stallMs: 'The origin fell silent' },
      // Every byte resets the limit of silence, so headers that arrive byte by byte need another
      // one.
      limits: { silenceMs: idleLimitMs, headersMs: 2 * idleLimitMs, stallMs: idleLimitMs },
      resolve,
    });
  }

  /**
   * @throws KinoraError `invalid_input` for rejected requests, `source_unreachable` for network
   * failures
   */
  async get(start: string, headers: Record<string, string>, signal: AbortSignal): Promise<GuardedResponse> {
    const first = parseUrl(start);
    if (first === undefined) throw notAllowed('not a URL');
    let url: URL = first;
    let authorization = basicCredentials(url);
    for (let redirects = 0; ; redirects += 1) {
      const response = await this.getOnce(
        url,
        {
          'user-agent': this.options.userAgent,
          accept: '*/*',
          'accept-encoding': 'identity',
          ...headers,
          ...(authorization !== undefined && { authorization }),
        },
        signal,
      );
      const location = REDIRECTS.includes(response.status) ? response.header('location') : undefined;
      const next: URL | undefined = location === undefined ? undefined : parseUrl(location, url);
      if (next === undefined || redirects === MAX_REDIRECTS) return response;
      response.close();
      authorization = basicCredentials(next) ?? (next.origin === url.origin ? authorization : undefined);
      url = next;
    }
  }

  private async getOnce(url: URL, headers: Record<string, string>, signal: AbortSignal): Promise<GuardedResponse> {
    if (url.protocol !== 'http:' && url.protocol !== 'https:') throw notAllowed('protocol');
    const bare = new URL(url);
    bare.username = '';
    bare.password = '';
    const checkAddresses = (addresses: readonly string[]): void => {
      const { allowedUrls, isAllowedAddress } = this.options;
      if (allowedUrls.has(url.href) || addresses.every((address) => isAllowedAddress(address))) return;
      const advice = '--allow-private-sources (KINORA_ALLOW_PRIVATE_SOURCES) allows private ones';
      throw notAllowed('address', new Error(`${url.host} has an address that is not allowed; ${advice}`));
    };
    try {
      return new GuardedResponse(await this.client.send({ method: 'GET', url: bare, headers, signal, checkAddresses }));
    } catch (error) {
      throw unreachable(error);
    }
  }
}

async function* bytesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw unreachable(error);
  }
}

const MINIMUM_AGE_MS = 1000;

/**
 * The value for If-Range: a strong entity tag, or a date that is old enough to be a strong
 * validator (RFC 9110 8.8.2.2).
 */
export const strongValidator = (response: Pick<GuardedResponse, 'header'>): string | undefined => {
  const etag = response.header('etag');
  if (etag?.startsWith('"')) return etag;
  const modified = response.header('last-modified');
  const ageMs = Date.parse(response.header('date') ?? '') - Date.parse(modified ?? '');
  return ageMs >= MINIMUM_AGE_MS ? modified : undefined;
};
