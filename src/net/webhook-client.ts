import type { IncomingHttpHeaders } from 'node:http';
import { createAddressPolicy } from './address.js';
import { HttpClient, isTotalLimit } from './http-client.js';
import { type Resolve, resolveHost, shareLookups } from './resolve-host.js';
import type { WebhookMessage, WebhookResponse, WebhookSender } from './send-webhook.js';

export interface WebhookClientOptions {
  /** `true` allows all internal addresses, a list of CIDR networks only those. */
  readonly allowPrivate: boolean | readonly string[];
  readonly resolve?: Resolve;
}

const LIMIT_MS = 5000;
const RESOLVE_LIMIT_MS = 2000;
const STORED_BODY_BYTES = 1024;
const STORED_HEADER_CHARACTERS = 4096;
const STORED_ERROR_BYTES = 512;
/** How many idle connections to one receiver are kept for the next event, and for how long. */
const KEEP_ALIVE = { keepAlive: true, maxFreeSockets: 4, timeout: 4000 };

/** PostgreSQL can store neither NUL nor lone surrogates. */
const storable = (bytes: Buffer): string => bytes.toString('utf8').replaceAll('\0', '');

const describe = (error: unknown): string => {
  const text = error instanceof Error ? error.message || ('code' in error ? String(error.code) : '') : String(error);
  return storable(Buffer.from(text).subarray(0, STORED_ERROR_BYTES));
};

const storedHeaders = (headers: IncomingHttpHeaders): Record<string, string> => {
  const stored: Record<string, string> = {};
  let characters = 0;
  for (const [name, value] of Object.entries(headers)) {
    const text = [value].flat().join(', ');
    characters += name.length + text.length;
    if (characters > STORED_HEADER_CHARACTERS) break;
    stored[name] = text;
  }
  return stored;
};

/**
 * Reads the first KiB. A longer body ends the connection; a body that does not end in time is not a
 * failure.
 */
const readStart = async (body: AsyncIterable<Buffer>): Promise<string> => {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > STORED_BODY_BYTES) break;
    }
  } catch {
    // The received part is kept; the status, which determines the outcome, is known.
  }
  return storable(Buffer.concat(chunks).subarray(0, STORED_BODY_BYTES));
};

export class WebhookClient implements WebhookSender {
  private readonly client: HttpClient;
  private readonly resolve: Resolve;
  private readonly isAllowed: (address: string) => boolean;

  constructor({ allowPrivate, resolve }: WebhookClientOptions) {
    this.resolve = shareLookups(resolve);
    this.isAllowed = createAddressPolicy(allowPrivate);
    const limits = { totalMs: LIMIT_MS };
    this.client = new HttpClient({ peer: 'receiver', limits, resolve: this.resolve, keepAlive: KEEP_ALIVE });
  }

  async allows(address: string): Promise<boolean> {
    try {
      const signal = AbortSignal.timeout(RESOLVE_LIMIT_MS);
      const addresses = await resolveHost(new URL(address), signal, this.resolve);
      return addresses.every((resolved) => this.isAllowed(resolved.address));
    } catch {
      // The name can't be resolved now; it is checked again for every delivery.
      return true;
    }
  }

  async send(address: string, { body, signature }: WebhookMessage, signal?: AbortSignal): Promise<WebhookResponse> {
    try {
      const response = await this.client.send({
        method: 'POST',
        url: new URL(address),
        body,
        signal,
        headers: {
          'content-type': 'application/json',
          'user-agent': 'Kinora-Webhooks/1',
          'mux-signature': signature,
        },
        checkAddresses: (addresses) => {
          if (!addresses.every((resolved) => this.isAllowed(resolved))) throw new Error('The address is not allowed');
        },
      });
      const { status, headers } = response;
      return { status, headers: storedHeaders(headers), body: await readStart(response.body) };
    } catch (error) {
      return { error: isTotalLimit(error) ? 'No answer within 5 s' : describe(error) };
    }
  }
}
