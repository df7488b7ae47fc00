import { createHmac } from 'node:crypto';
import { newKeyBytes } from '../../lib/ids.js';

const PERIOD_MS = 60_000;

/**
 * Proves that a peer receives what is sent to its address, without anything that is stored. A
 * cookie is valid for one to two minutes.
 */
export class HandshakeCookie {
  readonly #secret = newKeyBytes(32);

  /** @param peer address and port */
  of(peer: string, nowMs: number): number {
    return this.#compute(peer, Math.floor(nowMs / PERIOD_MS));
  }

  isValid(cookie: number, peer: string, nowMs: number): boolean {
    const period = Math.floor(nowMs / PERIOD_MS);
    return cookie === this.#compute(peer, period) || cookie === this.#compute(peer, period - 1);
  }

  #compute(peer: string, period: number): number {
    return createHmac('sha256', this.#secret).update(`${period} ${peer}`).digest().readUInt32BE(0);
  }
}
