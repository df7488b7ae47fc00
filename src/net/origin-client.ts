import type { OutgoingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { cancelled } from '../lib/abort.js';
import { KinoraError } from '../lib/errors.js';
import type { Origin, OriginRequest, OriginResponse } from './fetch-origin.js';
import { HttpClient, type HttpLimits, type HttpResponse } from './http-client.js';

/**
 * The first viewer of a segment waits until it is encoded. While the reader of a body waits, the
 * origin may read it from a store that is slow.
 */
const LIMITS: HttpLimits = { silenceMs: 120_000, stallMs: 20_000 };

/** Keeps connections to one origin open. The body of a response fails when it stalls. */
export class OriginClient implements Origin {
  private readonly base: URL;
  private readonly prefix: string;
  private readonly client: HttpClient;

  constructor(baseUrl: string, limits: HttpLimits = {}) {
    this.base = new URL(baseUrl);
    this.base.username = '';
    this.base.password = '';
    this.prefix = this.base.pathname.replace(/\/$/, '');
    this.client = new HttpClient({
      peer: 'origin',
      limits: { ...LIMITS, ...limits },
      messages: { connectMs: 'no connection in time', silenceMs: 'the origin did not answer in time' },
      keepAlive: { keepAlive: true },
    });
  }

  async fetch({ method, path, headers, body, signal }: OriginRequest): Promise<OriginResponse> {
    const definedHeaders = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
    try {
      const response = await this.client.send({
        method,
        url: this.base,
        path: this.prefix + path,
        body,
        signal,
        headers: { ...definedHeaders, host: this.base.host } as OutgoingHttpHeaders,
      });
      return { status: response.status, headers: response.headers, body: readable(response) };
    } catch (cause) {
      if (signal?.aborted) throw cancelled(signal, cause);
      throw new KinoraError('unavailable', { cause, details: { stage: 'origin' } });
    }
  }

  stop(): void {
    this.client.close();
  }
}

const readable = (response: HttpResponse): Readable => {
  const body = Readable.from(response.body, { objectMode: false });
  // Closing early makes it fail after its reader has left.
  body.on('error', () => undefined);
  // At once, and not when the next bytes arrive.
  body.once('close', () => response.close());
  return body;
};
