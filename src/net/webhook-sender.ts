import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { createLinkedAbort } from '../lib/linked-abort.js';
import { createAddressPolicy } from './address.js';
import { pinnedLookup, type Resolve, resolveHost, shareLookups } from './resolve-host.js';
import type { WebhookMessage, WebhookResponse, WebhookSender } from './send-webhook.js';

export interface WebhookSenderOptions {
  /** `true` allows all internal addresses, a list of CIDR networks only those. */
  readonly allowPrivate: boolean | readonly string[];
  readonly resolve?: Resolve;
}

const LIMIT_MS = 5000;
const RESOLVE_LIMIT_MS = 2000;
const KEPT_BODY_BYTES = 1024;
const KEPT_HEADER_CHARACTERS = 4096;
const KEPT_ERROR_BYTES = 512;
/** How many idle connections to one receiver are kept for the next event, and for how long. */
const KEEP_ALIVE = { keepAlive: true, maxFreeSockets: 4, timeout: 4000 };

/** Node reports a connection that the receiver closed between two requests this way. */
const wasClosedMeanwhile = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE');

/** PostgreSQL can store neither NUL nor lone surrogates. */
const storable = (bytes: Buffer): string => bytes.toString('utf8').replaceAll('\0', '');

const describe = (error: unknown): string => {
  const text = error instanceof Error ? error.message || ('code' in error ? String(error.code) : '') : String(error);
  return storable(Buffer.from(text).subarray(0, KEPT_ERROR_BYTES));
};

const keptHeaders = (response: IncomingMessage): Record<string, string> => {
  const firstHeaders: Record<string, string> = {};
  let characters = 0;
  for (const [name, value] of Object.entries(response.headers)) {
    const text = [value].flat().join(', ');
    characters += name.length + text.length;
    if (characters > KEPT_HEADER_CHARACTERS) break;
    firstHeaders[name] = text;
  }
  return firstHeaders;
};

/**
 * Reads the first KiB. A longer body ends the connection; a body that does not end in time is not a
 * failure.
 */
const readStart = async (response: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > KEPT_BODY_BYTES) break;
    }
  } catch {
    // The received part is kept; the status, which determines the outcome, is known.
  }
  return storable(Buffer.concat(chunks).subarray(0, KEPT_BODY_BYTES));
};

export const createWebhookSender = (options: WebhookSenderOptions): WebhookSender => {
  const { allowPrivate } = options;
  const resolve = shareLookups(options.resolve);
  const isAllowed = createAddressPolicy(allowPrivate);
  const agents = { 'http:': new HttpAgent(KEEP_ALIVE), 'https:': new HttpsAgent(KEEP_ALIVE) };

  const post = (url: URL, lookup: LookupFunction, { body, signature }: WebhookMessage, signal: AbortSignal) =>
    new Promise<IncomingMessage>((responded, failed) => {
      const secure = url.protocol === 'https:';
      const request = (secure ? httpsRequest : httpRequest)(url, {
        method: 'POST',
        agent: secure ? agents['https:'] : agents['http:'],
        lookup,
        signal,
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'user-agent': 'Kinora-Webhooks/1',
          'mux-signature': signature,
        },
      });
      request.once('response', responded);
      // The connection no longer speaks HTTP: without a listener, the request would never settle.
      request.once('upgrade', (_, socket) => {
        socket.destroy();
        failed(new Error('The receiver switched protocols'));
      });
      request.once('socket', (socket) => {
        // After an early response, sending the rest of the body may still fail. Without a listener,
        // that would end the process.
        if (!request.reusedSocket) socket.on('error', () => undefined);
      });
      // Stays for the life of the request: later failures reach the reader of the body.
      request.on('error', (error) => {
        if (!request.reusedSocket || !wasClosedMeanwhile(error)) return failed(error);
        post(url, lookup, { body, signature }, signal).then(responded, failed);
      });
      request.end(body);
    });

  return {
    allows: async (address) => {
      try {
        const addresses = await resolveHost(new URL(address), AbortSignal.timeout(RESOLVE_LIMIT_MS), resolve);
        return addresses.every(({ address }) => isAllowed(address));
      } catch {
        // The name can't be resolved now; it is checked again for every delivery.
        return true;
      }
    },
    send: async (address, message, signal) => {
      using limited = createLinkedAbort(signal, LIMIT_MS);
      let result: WebhookResponse;
      try {
        const url = new URL(address);
        const addresses = await resolveHost(url, limited.signal, resolve);
        if (!addresses.every(({ address }) => isAllowed(address))) return { error: 'The address is not allowed' };
        const response = await post(url, pinnedLookup(addresses), message, limited.signal);
        // Closing early makes the body fail after its reader has left.
        response.on('error', () => undefined);
        result = {
          status: response.statusCode!,
          headers: keptHeaders(response),
          body: await readStart(response),
        };
      } catch (error) {
        result = { error: limited.isLate ? 'No answer within 5 s' : describe(error) };
      }
      return result;
    },
  };
};
