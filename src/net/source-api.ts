import { setTimeout as sleep } from 'node:timers/promises';
import { cancelled } from '../lib/abort.js';
import { backoffMs } from '../lib/backoff.js';
import type { Clock } from '../lib/clock.js';
import { type ErrorCode, isKinoraError, KinoraError } from '../lib/errors.js';
import type { ServiceCall, ServiceCaller, ServiceResponse } from './call-service.js';

export interface SourceApiOptions {
  /** Without a trailing slash. */
  readonly url: string;
  readonly tokenId: string;
  readonly tokenSecret: string;
  readonly caller: ServiceCaller;
  /** Private networks that the source may be in. */
  readonly allowPrivate: boolean | readonly string[];
  /** The most requests per second, evenly spaced. */
  readonly ratePerSecond: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called before each wait that the source causes. */
  readonly onWait?: (reason: string, waitMs: number) => void;
  /** Of the waits after failures; one second by default. */
  readonly retryDelayMs?: number;
}

export interface SourceResponse<T> {
  readonly data: T;
  readonly next_cursor?: string | null;
}

const MAX_TRIES = 6;
/** Longer pauses are not believed. */
const MAX_PAUSE_MS = 5 * 60_000;
const BACKOFF_MAX_MS = 30_000;

/** Another server that speaks the same API. */
export class SourceApi {
  private readonly authorization: string;
  private readonly spacingMs: number;
  private nextMs = Number.NEGATIVE_INFINITY;
  private sent = 0;

  constructor(private readonly options: SourceApiOptions) {
    const { tokenId, tokenSecret, ratePerSecond } = options;
    this.authorization = `Basic ${Buffer.from(`${tokenId}:${tokenSecret}`).toString('base64')}`;
    this.spacingMs = 1000 / ratePerSecond;
  }

  /** Requests sent so far. */
  get requests(): number {
    return this.sent;
  }

  /**
   * Waits its turn, and repeats what failed for a while: everything after 429, and all but POST
   * after failures of the network or the source.
   * @throws KinoraError `unauthorized`, `forbidden`, `not_found`, `invalid_parameters`,
   * `unavailable`, `cancelled`
   */
  async call<T>(method: ServiceCall['method'], path: string, body?: object): Promise<SourceResponse<T>> {
    const { url, allowPrivate } = this.options;
    const headers = {
      authorization: this.authorization,
      accept: 'application/json',
      ...(body && { 'content-type': 'application/json' }),
    };
    const call = { method, url: `${url}${path}`, headers, allowPrivate, ...(body && { body: JSON.stringify(body) }) };
    return readResponse<T>(await this.send(call), `${method} ${path.split('?')[0]}`, url);
  }

  /** The text at a URL of the stream host, requested without credentials. */
  async getText(address: string): Promise<string> {
    const { allowPrivate } = this.options;
    const { status, body } = await this.send({ method: 'GET', url: address, headers: {}, allowPrivate });
    if (status === 200) return Buffer.from(body).toString('utf8');
    const messages = [`${new URL(address).host} answered with status ${status}.`];
    throw new KinoraError(status === 404 ? 'not_found' : 'unavailable', { messages });
  }

  private async send(call: ServiceCall): Promise<ServiceResponse> {
    for (let tries = 1; ; tries += 1) {
      const response = await this.tryOnce(call, tries);
      if (response) return response;
    }
  }

  /** Undefined when the request may be repeated; the wait is over then. */
  private async tryOnce(call: ServiceCall, tries: number): Promise<ServiceResponse | undefined> {
    const { caller, clock, signal, onWait, retryDelayMs = 1000 } = this.options;
    await this.turn();
    this.sent += 1;
    const isLast = tries === MAX_TRIES;
    let response: ServiceResponse;
    try {
      response = await caller.call(call, signal);
    } catch (error) {
      if (signal.aborted) throw cancelled(signal, error);
      if (isLast || call.method === 'POST') throw unreachable(call.url, error);
      const waitMs = backoffMs(tries, { baseMs: retryDelayMs, maxMs: BACKOFF_MAX_MS });
      onWait?.('The source does not answer', waitMs);
      await this.pause(waitMs);
      return undefined;
    }
    const isBusy = response.status === 429;
    const isRepeated = isBusy || (response.status >= 500 && call.method !== 'POST');
    if (!isRepeated || isLast) return response;
    const asked = retryAfterMs(response.retryAfter, clock);
    const waitMs = asked ?? backoffMs(tries, { baseMs: retryDelayMs, maxMs: BACKOFF_MAX_MS });
    onWait?.(isBusy ? 'The source limits requests' : `The source answered with status ${response.status}`, waitMs);
    // The limit applies to all requests, so all wait.
    if (isBusy) this.nextMs = Math.max(this.nextMs, clock.monotonicMs() + waitMs);
    else await this.pause(waitMs);
    return undefined;
  }

  /** Requests start one after the other, whoever makes them. */
  private async turn(): Promise<void> {
    const { clock } = this.options;
    const startMs = Math.max(clock.monotonicMs(), this.nextMs);
    this.nextMs = startMs + this.spacingMs;
    await this.pause(startMs - clock.monotonicMs());
  }

  private async pause(waitMs: number): Promise<void> {
    const { signal } = this.options;
    try {
      if (waitMs > 0) await sleep(waitMs, undefined, { signal });
    } catch (cause) {
      throw cancelled(signal, cause);
    }
  }
}

const retryAfterMs = (text: string | undefined, clock: Clock): number | undefined => {
  if (text === undefined) return undefined;
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - clock.now().getTime();
  return Number.isFinite(waitMs) ? Math.min(Math.max(waitMs, 0), MAX_PAUSE_MS) : undefined;
};

const unreachable = (url: string, cause: unknown): KinoraError => {
  const reason = isKinoraError(cause) ? String(cause.details?.reason ?? '') : '';
  const advice = reason.includes('not allowed')
    ? ' It has a private address; start the server with --allow-private-sources (KINORA_ALLOW_PRIVATE_SOURCES).'
    : '';
  const messages = [
    `The source ${new URL(url).origin} does not answer: ${reason.replace(/^\w*Error: /, '')}.${advice}`,
  ];
  return new KinoraError('unavailable', { messages, cause });
};

const codes: Readonly<Record<number, ErrorCode>> = { 401: 'unauthorized', 403: 'forbidden', 404: 'not_found' };

const readResponse = <T>({ status, body }: ServiceResponse, request: string, url: string): SourceResponse<T> => {
  const text = Buffer.from(body).toString('utf8');
  const parsed = parse(text);
  if (status >= 200 && status < 300) {
    if (text === '') return { data: undefined as T };
    if (parsed !== undefined && 'data' in parsed) return parsed as unknown as SourceResponse<T>;
    throw new KinoraError('unavailable', { messages: [`${url} does not answer as the API does.`] });
  }
  const { messages } = (parsed?.error ?? {}) as { messages?: readonly string[] };
  const reason = Array.isArray(messages) ? messages.join('; ') : `status ${status}`;
  if (status === 401)
    throw new KinoraError('unauthorized', {
      messages: [`The source ${url} rejects the access token. Check MUX_TOKEN_ID and MUX_TOKEN_SECRET.`],
    });
  const code = codes[status] ?? (status < 500 && status !== 429 ? 'invalid_parameters' : 'unavailable');
  throw new KinoraError(code, { messages: [`The source refuses ${request}: ${reason}`] });
};

const parse = (text: string): Record<string, unknown> | undefined => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
};
