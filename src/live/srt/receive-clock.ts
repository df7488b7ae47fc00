/** The least delay is that of the last one to two windows: clocks of encoders drift. */
const WINDOW_MS = 10_000;

/**
 * When the packets of a sender are due. Its clock is compared with ours by the packets that came
 * through the network fastest.
 */
export class ReceiveClock {
  readonly #latencyMs: number;
  #lastUs: number | undefined;
  #windowMs = 0;
  #leastMs = Number.POSITIVE_INFINITY;
  #leastBeforeMs = Number.POSITIVE_INFINITY;

  /** @param latencyMs how long to wait for what is sent again */
  constructor(latencyMs: number) {
    this.#latencyMs = latencyMs;
  }

  /**
   * @param timestamp microseconds of the sender's clock, modulo 2^32
   * @returns when the packet was sent, in milliseconds of the sender's clock
   */
  arrive(timestamp: number, nowMs: number): number {
    const last = this.#lastUs ?? timestamp;
    // Bit operators count modulo 2^32.
    this.#lastUs = last + ((timestamp - last) | 0);
    const sentMs = this.#lastUs / 1000;
    if (nowMs - this.#windowMs > WINDOW_MS) {
      this.#windowMs = nowMs;
      this.#leastBeforeMs = this.#leastMs;
      this.#leastMs = Number.POSITIVE_INFINITY;
    }
    this.#leastMs = Math.min(this.#leastMs, nowMs - sentMs);
    return sentMs;
  }

  /** What was sent then is not waited for any longer. */
  isDue(sentMs: number, nowMs: number): boolean {
    return nowMs >= sentMs + Math.min(this.#leastMs, this.#leastBeforeMs) + this.#latencyMs;
  }
}
