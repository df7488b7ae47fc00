const WRAP = 2 ** 33;

/** Distance between two timestamps of 33 bits, from −2^32 to 2^32 − 1 ticks. */
export const timestampDistance = (from: number, to: number): number =>
  ((((to - from) % WRAP) + WRAP * 1.5) % WRAP) - WRAP / 2;

/**
 * Continues timestamps of 33 bits past their end after 26.5 hours. One for all streams of a
 * program: they have the same clock.
 */
export class TransportClock {
  #last: number | undefined;

  /** The time with the same low 33 bits that is nearest to the one before. The first is ≥ 2^33. */
  unwrap(timestamp: number): number {
    const last = this.#last;
    this.#last = last === undefined ? timestamp + WRAP : last + timestampDistance(last, timestamp);
    return this.#last;
  }
}
