import { KinoraError } from '../lib/errors.js';
import { createAddressPolicy } from './address.js';
import type { ServiceCall, ServiceCaller, ServiceResponse } from './call-service.js';
import { HttpClient, isTotalLimit } from './http-client.js';
import type { Resolve } from './resolve-host.js';

export interface ServiceClientOptions {
  /** Applies to every service; a call may allow more. */
  readonly allowPrivate: boolean | readonly string[];
  readonly resolve?: Resolve;
  /** The time limit for a whole response; ten seconds by default. */
  readonly limitMs?: number;
}

const LIMIT_MS = 10_000;
/** Licenses have a few KiB, responses of key services some tens of KiB. */
const MAX_RESPONSE_BYTES = 1024 * 1024;

export class ServiceClient implements ServiceCaller {
  private readonly client: HttpClient;
  private readonly isAllowedToAll: (address: string) => boolean;

  constructor({ allowPrivate, resolve, limitMs = LIMIT_MS }: ServiceClientOptions) {
    this.client = new HttpClient({ peer: 'service', limits: { totalMs: limitMs }, resolve });
    this.isAllowedToAll = createAddressPolicy(allowPrivate);
  }

  async call(call: ServiceCall, signal?: AbortSignal): Promise<ServiceResponse> {
    const { method, headers, body } = call;
    try {
      const isAllowedToCall = createAddressPolicy(call.allowPrivate);
      const response = await this.client.send({
        method,
        url: new URL(call.url),
        headers: { 'user-agent': 'Kinora', ...headers },
        body,
        signal,
        checkAddresses: (addresses) => {
          const isAllowed = (address: string): boolean => this.isAllowedToAll(address) || isAllowedToCall(address);
          if (!addresses.every(isAllowed)) throw new Error('The address is not allowed');
        },
      });
      const { status, headers: received } = response;
      return {
        status,
        contentType: received['content-type'],
        retryAfter: received['retry-after'],
        body: await response.bytes(MAX_RESPONSE_BYTES, () => new Error('The answer is too large')),
      };
    } catch (cause) {
      // The message of a URL error repeats the text, which may contain a password.
      const reason = cause instanceof TypeError ? 'not a URL' : String(cause);
      throw new KinoraError('unavailable', { details: { reason: isTotalLimit(cause) ? 'No answer in time' : reason } });
    }
  }
}
