import type { Clock } from '../lib/clock.js';

export interface BucketLimits {
  /** What may be taken at once. */
  readonly burst: number;
  readonly perSecond: number;
}

/** Limits how much is taken over time. */
export class TokenBucket {
  readonly #limits: BucketLimits;
  readonly #clock: Clock;
  #left: number;
  #filledMs: number;

  constructor(limits: BucketLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#left = limits.burst;
    this.#filledMs = clock.monotonicMs();
  }

  /** False, and nothing is taken, when there is not so much. */
  take(amount: number): boolean {
    const { burst, perSecond } = this.#limits;
    const nowMs = this.#clock.monotonicMs();
    this.#left = Math.min(burst, this.#left + ((nowMs - this.#filledMs) * perSecond) / 1000);
    this.#filledMs = nowMs;
    if (amount > this.#left) return false;
    this.#left -= amount;
    return true;
  }
}
