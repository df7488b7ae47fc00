import { setTimeout as pause } from 'node:timers/promises';
import { isUnavailable } from '../lib/unavailable.js';
import type { Logger } from '../telemetry/logger.js';

const RETRY_MS = 1000;

/**
 * Saves the changes of one live stream in their order, over all its broadcasts. While the database
 * or the disk is unavailable they wait: encoders and viewers must not notice.
 */
export class StateLog {
  #last: Promise<unknown> = Promise.resolve();
  readonly #stopped = new AbortController();

  constructor(private readonly logger: Logger) {}

  /** Rejects when the change itself fails, or when the server stops before it could be saved. */
  save<T>(change: () => Promise<T>): Promise<T> {
    const saved = this.#last.then(() => this.#saveOnce(change));
    this.#last = saved.catch(() => undefined);
    return saved;
  }

  /** Resolves when everything is saved, or after `limitMs`. */
  async stop(limitMs: number): Promise<void> {
    await Promise.race([this.#last, pause(limitMs, undefined, { ref: false })]);
    this.#stopped.abort();
    await this.#last;
  }

  async #saveOnce<T>(change: () => Promise<T>): Promise<T> {
    for (let warned = false; ; warned = true) {
      this.#stopped.signal.throwIfAborted();
      try {
        return await change();
      } catch (error) {
        if (!isUnavailable(error)) throw error;
        if (!warned) this.logger.warn({ err: error }, 'state of a live stream not saved, retrying');
        await pause(RETRY_MS, undefined, { signal: this.#stopped.signal });
      }
    }
  }
}
