import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { KinoraError } from '../lib/errors.js';
import { createLinkedAbort } from '../lib/linked-abort.js';
import { createAddressPolicy } from './address.js';
import type { ServiceCall, ServiceCaller } from './call-service.js';
import { pinnedLookup, type Resolve, resolveHost } from './resolve-host.js';

export interface ServiceCallerOptions {
  /** Applies to every service; a call may allow more. */
  readonly allowPrivate: boolean | readonly string[];
  readonly resolve?: Resolve;
  /** The time limit for a whole response; ten seconds by default. */
  readonly limitMs?: number;
}

const LIMIT_MS = 10_000;
/** Licenses have a few KiB, answers of key services some tens of KiB. */
const MAX_RESPONSE_BYTES = 1024 * 1024;

export const createServiceCaller = ({
  allowPrivate,
  resolve,
  limitMs = LIMIT_MS,
}: ServiceCallerOptions): ServiceCaller => {
  const isAllowedToAll = createAddressPolicy(allowPrivate);
  return {
    async call(call, signal) {
      using limited = createLinkedAbort(signal, limitMs);
      try {
        const url = new URL(call.url);
        const isAllowedToCall = createAddressPolicy(call.allowPrivate);
        const addresses = await resolveHost(url, limited.signal, resolve);
        if (!addresses.every(({ address }) => isAllowedToAll(address) || isAllowedToCall(address))) {
          throw new Error('The address is not allowed');
        }
        const response = await send(url, call, pinnedLookup(addresses), limited.signal);
        // Closing early makes the body fail after its reader has left.
        response.on('error', () => undefined);
        const body = await readBody(response);
        const { 'content-type': contentType, 'retry-after': retryAfter } = response.headers;
        return { status: response.statusCode!, contentType, retryAfter, body };
      } catch (cause) {
        // The message of a URL error repeats the text, which may contain a password.
        const reason = cause instanceof TypeError ? 'not a URL' : String(cause);
        throw new KinoraError('unavailable', { details: { reason: limited.isLate ? 'No answer in time' : reason } });
      }
    },
  };
};

const send = (
  url: URL,
  { method, headers, body }: ServiceCall,
  lookup: LookupFunction,
  signal: AbortSignal,
): Promise<IncomingMessage> =>
  new Promise((responded, failed) => {
    const sizes = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    const options = { method, lookup, signal, agent: false, headers: { 'user-agent': 'Kinora', ...headers, ...sizes } };
    const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, options);
    request.once('response', responded);
    // The connection no longer speaks HTTP: without a listener, the request would never settle.
    request.once('upgrade', (_, socket) => {
      socket.destroy();
      failed(new Error('The service switched protocols'));
    });
    // Stays for the life of the request: later failures reach the reader of the body.
    request.on('error', failed);
    request.end(body);
  });

const readBody = async (response: IncomingMessage): Promise<Uint8Array> => {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > MAX_RESPONSE_BYTES) throw new Error('The answer is too large');
  }
  return Buffer.concat(chunks);
};
