import {
  type AgentOptions,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { createLinkedAbort, type LinkedAbort } from '../lib/linked-abort.js';
import { withStallLimit } from '../lib/stall-limit.js';
import { pinnedLookup, type Resolve, resolveHost } from './resolve-host.js';

/** Whoever answers has time for each step of a request. */
export interface HttpLimits {
  /** Until the connection is ready: name resolution and TLS included. Ten seconds by default. */
  readonly connectMs?: number;
  /** The longest silence on the connection before the response. */
  readonly silenceMs?: number;
  /** Until the headers of the response: they could also arrive byte by byte. */
  readonly headersMs?: number;
  /** The longest time without a byte of the body, while its reader waits. */
  readonly stallMs?: number;
  /** For everything, up to the last byte of the body. */
  readonly totalMs?: number;
}

type LimitMessages = Readonly<Record<Exclude<keyof HttpLimits, 'totalMs'>, string>>;

export interface HttpClientOptions {
  /** Names the other side in errors. */
  readonly peer: 'origin' | 'provider' | 'receiver' | 'server' | 'service';
  readonly limits: HttpLimits;
  /** What the errors of limits say, where it is not the usual text. */
  readonly messages?: Partial<LimitMessages>;
  /** Replaces the system's name resolution. */
  readonly resolve?: Resolve | undefined;
  /** Keeps connections open for the next request. */
  readonly keepAlive?: AgentOptions;
}

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  /** In place of the path of the URL, exactly as it is sent. */
  readonly path?: string;
  readonly headers: OutgoingHttpHeaders;
  readonly body?: Uint8Array | string | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * Throws when one of these addresses may not be reached. The connection uses the same addresses,
   * so a second DNS answer has no effect. Without it, every address is allowed.
   */
  readonly checkAddresses?: (addresses: readonly string[]) => void;
}

const CONNECT_MS = 10_000;
/** A body that stalls names its limit. */
const MESSAGES: Omit<LimitMessages, 'stallMs'> = {
  connectMs: 'No connection in time',
  silenceMs: 'No answer in time',
  headersMs: 'No answer in time',
};

interface Connecting {
  readonly lookup: LookupFunction | undefined;
  readonly connectMs: number | undefined;
  /** False for a connection that only this request uses. */
  readonly agent: HttpAgent | HttpsAgent | false;
}

/** One of the limits has passed. Its code is that of a connection that timed out. */
export class TimeLimitError extends Error {
  readonly code = 'ETIMEDOUT';

  constructor(
    readonly limit: keyof HttpLimits,
    message: string,
  ) {
    super(message);
  }
}

/** Whether a failure is that the total limit has passed. */
export const isTotalLimit = (error: unknown): boolean => error instanceof TimeLimitError && error.limit === 'totalMs';

/** Node reports a connection that the other side closed between two requests this way. */
const wasClosedMeanwhile = ({ code }: NodeJS.ErrnoException): boolean => code === 'ECONNRESET' || code === 'EPIPE';

/**
 * All requests to other hosts, but for those of the S3 client. It follows no redirects and verifies
 * TLS. A request on a kept connection that the other side has just closed is sent again, once, on a
 * new one.
 */
export class HttpClient {
  private readonly agents: { readonly http: HttpAgent; readonly https: HttpsAgent } | undefined;

  constructor(private readonly options: HttpClientOptions) {
    const { keepAlive } = options;
    this.agents = keepAlive && { http: new HttpAgent(keepAlive), https: new HttpsAgent(keepAlive) };
  }

  /**
   * Returns a response with any status.
   * @throws what `checkAddresses` throws, the error of the network, or `TimeLimitError`
   */
  async send(request: HttpRequest): Promise<HttpResponse> {
    const { limits, messages } = this.options;
    const link = createLinkedAbort(request.signal, limits.totalMs);
    try {
      const startedMs = performance.now();
      const lookup = await this.lookup(request, link.signal);
      const connectMs = this.connectMs && Math.max(1, this.connectMs - (performance.now() - startedMs));
      const agent = this.agents?.[request.url.protocol === 'https:' ? 'https' : 'http'] ?? false;
      const message = await this.open(request, link.signal, { lookup, connectMs, agent });
      return new HttpResponse(message, link, { stallMs: limits.stallMs, stallMessage: messages?.stallMs });
    } catch (error) {
      link[Symbol.dispose]();
      throw link.isLate ? totalError() : error;
    }
  }

  /** Ends the kept connections. */
  close(): void {
    this.agents?.http.destroy();
    this.agents?.https.destroy();
  }

  /** Undefined when the total limit is not longer. */
  private get connectMs(): number | undefined {
    const { connectMs = CONNECT_MS, totalMs = Number.POSITIVE_INFINITY } = this.options.limits;
    return connectMs < totalMs ? connectMs : undefined;
  }

  private async lookup({ url, checkAddresses }: HttpRequest, signal: AbortSignal): Promise<LookupFunction | undefined> {
    if (!checkAddresses) return undefined;
    using limited = createLinkedAbort(signal, this.connectMs);
    const addresses = await resolveHost(url, limited.signal, this.options.resolve).catch((error: unknown) => {
      throw limited.isLate ? this.limitError('connectMs') : error;
    });
    checkAddresses(addresses.map(({ address }) => address));
    return pinnedLookup(addresses);
  }

  private limitError(limit: keyof typeof MESSAGES): TimeLimitError {
    return new TimeLimitError(limit, this.options.messages?.[limit] ?? MESSAGES[limit]);
  }

  private open(sent: HttpRequest, signal: AbortSignal, connecting: Connecting): Promise<IncomingMessage> {
    const { url, method, path, headers, body } = sent;
    const { lookup, connectMs, agent } = connecting;
    const { peer, limits } = this.options;
    const isSecure = url.protocol === 'https:';
    return new Promise((resolve, reject) => {
      const sizes = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
      const request = (isSecure ? httpsRequest : httpRequest)(url, {
        ...{ method, signal, headers: { ...headers, ...sizes } },
        ...(path !== undefined && { path }),
        ...(lookup && { lookup }),
        agent,
      });
      const fail = (limit: keyof typeof MESSAGES): void => void request.destroy(this.limitError(limit));
      const { headersMs, silenceMs } = limits;
      const unconnected = connectMs && setTimeout(() => fail('connectMs'), connectMs);
      const unresponded = headersMs && setTimeout(() => fail('headersMs'), headersMs);
      const endTimers = (): void => {
        clearTimeout(unconnected);
        clearTimeout(unresponded);
      };
      if (silenceMs !== undefined) request.setTimeout(silenceMs, () => fail('silenceMs'));
      request.once('socket', (socket) => {
        if (request.reusedSocket) return clearTimeout(unconnected);
        socket.once(isSecure ? 'secureConnect' : 'connect', () => clearTimeout(unconnected));
        // After an early response, sending the rest of the body may still fail. Without a listener,
        // that would end the process.
        socket.on('error', () => undefined);
      });
      let hasResponse = false;
      request.once('response', (response) => {
        hasResponse = true;
        endTimers();
        // From here on, the reader of the body has its own limit.
        if (silenceMs !== undefined) request.setTimeout(0);
        resolve(response);
      });
      // The connection no longer speaks HTTP: without a listener, the request would never settle.
      request.once('upgrade', (_, socket) => {
        socket.destroy();
        reject(new Error(`The ${peer} switched protocols`));
      });
      request.once('close', endTimers);
      // Stays for the life of the request: later failures reach the reader of the body.
      request.on('error', (error) => {
        const isRepeated = request.reusedSocket && !hasResponse && !signal.aborted && wasClosedMeanwhile(error);
        if (!isRepeated) return reject(error);
        this.open(sent, signal, { ...connecting, agent: false }).then(resolve, reject);
      });
      request.end(body);
    });
  }
}

/** Must be read to its end or closed; that also ends the limits. */
export class HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Fails when it stalls, when the connection is lost, or when the total limit has passed. */
  readonly body: AsyncIterable<Buffer>;

  constructor(
    private readonly message: IncomingMessage,
    private readonly link: LinkedAbort,
    { stallMs, stallMessage }: { readonly stallMs: number | undefined; readonly stallMessage: string | undefined },
  ) {
    this.status = message.statusCode!;
    this.headers = message.headers;
    // Closing early makes the body fail after its reader has left.
    message.on('error', () => undefined);
    message.once('close', () => link[Symbol.dispose]());
    this.body = this.read(stallMs === undefined ? message : withStallLimit<Buffer>(message, stallMs, stallMessage));
  }

  /** The first value of a header, by its lower-case name. */
  header(name: string): string | undefined {
    return [this.headers[name]].flat()[0];
  }

  /** The body as a whole. @throws what `tooLarge` makes when it has more bytes, and as `body` */
  async bytes(maxBytes: number, tooLarge: () => Error): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of this.body) {
      length += chunk.length;
      if (length > maxBytes) throw tooLarge();
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  }

  /** Ends what is left of the response. */
  close(): void {
    this.message.destroy();
    this.link[Symbol.dispose]();
  }

  private async *read(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    try {
      yield* chunks;
    } catch (error) {
      throw this.link.isLate ? totalError() : error;
    } finally {
      if (!this.message.complete) this.close();
    }
  }
}

const totalError = (): TimeLimitError => new TimeLimitError('totalMs', 'No answer in time');
