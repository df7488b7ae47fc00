import type { Clock } from '../lib/clock.js';

/**
 * A lease by the clock of this process, whatever the database does: a renewal without a response
 * must not keep the holder running. Count from before the query was sent, so that the lease ends
 * here before it ends there.
 */
export class Lease {
  readonly #clock: Clock;
  readonly #onEnd: () => void;
  #untilMs: number;
  #timer: NodeJS.Timeout | undefined;
  #isCancelled = false;

  /**
   * @param untilMs monotonic time
   * @param onEnd called once, unless the lease is cancelled before
   */
  constructor(clock: Clock, untilMs: number, onEnd: () => void) {
    this.#clock = clock;
    this.#untilMs = untilMs;
    this.#onEnd = onEnd;
    this.#wait();
  }

  /**
   * True from the moment of the end on, even if the timer is late, as after a pause of the process.
   */
  get isOver(): boolean {
    return this.#isCancelled || this.#clock.monotonicMs() >= this.#untilMs;
  }

  /** After a renewal. A lease that is over stays over. */
  extend(untilMs: number): void {
    if (!this.isOver) this.#untilMs = untilMs;
  }

  /** The holder has released it. */
  cancel(): void {
    this.#isCancelled = true;
    clearTimeout(this.#timer);
  }

  #wait(): void {
    const leftMs = Math.max(1, Math.ceil(this.#untilMs - this.#clock.monotonicMs()));
    this.#timer = setTimeout(() => (this.isOver ? this.#onEnd() : this.#wait()), leftMs);
  }
}
