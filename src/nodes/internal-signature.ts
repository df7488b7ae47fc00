import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../lib/clock.js';

export const SIGNATURE_HEADER = 'x-kinora-signature';
/**
 * A recorded request is rejected after this time; the clocks of the servers may differ by as much.
 */
const VALID_SECONDS = 60;

/** Signs requests that servers of one installation send to each other. */
export class InternalSignature {
  readonly #key: Buffer;
  readonly #clock: Clock;

  constructor(installationSecret: string, clock: Clock) {
    this.#key = createHmac('sha256', installationSecret).update('requests between servers').digest();
    this.#clock = clock;
  }

  /** The header of a request with this path and body. */
  sign(path: string, body: string): string {
    const seconds = this.#nowSeconds();
    return `${seconds}.${this.#mac(seconds, path, body)}`;
  }

  /** `late` when the clocks differ by too much, or the request is an old one. */
  verify(path: string, body: string, header: unknown): 'valid' | 'late' | 'wrong' {
    const [, digits, sent] = /^(\d{1,12})\.([0-9a-f]{64})$/.exec(String(header)) ?? [];
    if (digits === undefined) return 'wrong';
    if (!timingSafeEqual(Buffer.from(this.#mac(Number(digits), path, body)), Buffer.from(sent!))) return 'wrong';
    return Math.abs(this.#nowSeconds() - Number(digits)) > VALID_SECONDS ? 'late' : 'valid';
  }

  #mac(seconds: number, path: string, body: string): string {
    return createHmac('sha256', this.#key).update(`${seconds} ${path}\n`).update(body).digest('hex');
  }

  #nowSeconds(): number {
    return Math.floor(this.#clock.now().getTime() / 1000);
  }
}
