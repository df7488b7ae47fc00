import type { Clock } from '../../lib/clock.js';

/** An unknown ID is looked up at most so often, however many are sent. */
const READ_MS = 1000;

/** Tells whether an environment exists; new ones are known within a second. */
export class KnownEnvironments {
  readonly #read: () => Promise<readonly string[]>;
  readonly #clock: Clock;
  #ids: ReadonlySet<string> = new Set();
  #readAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  /** @param read the IDs of all environments */
  constructor(read: () => Promise<readonly string[]>, clock: Clock) {
    this.#read = read;
    this.#clock = clock;
  }

  async has(id: string): Promise<boolean> {
    if (this.#ids.has(id)) return true;
    if (this.#reading || this.#clock.monotonicMs() - this.#readAtMs >= READ_MS) {
      this.#reading ??= this.#refresh().finally(() => {
        this.#reading = undefined;
      });
      await this.#reading;
    }
    return this.#ids.has(id);
  }

  async #refresh(): Promise<void> {
    this.#readAtMs = this.#clock.monotonicMs();
    this.#ids = new Set(await this.#read());
  }
}
