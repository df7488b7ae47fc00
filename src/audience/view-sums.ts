import type { Database } from '../db/database.js';
import type { Clock } from '../lib/clock.js';
import type { Logger } from '../telemetry/logger.js';
import { sumUpViews } from './sum-up-views.js';

const INTERVAL_MS = 60_000;

/** Adds views that have ended to the roll-ups once a minute. */
export class ViewSums {
  readonly #options: { readonly database: Database; readonly clock: Clock; readonly logger: Logger };
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #isStopping = false;

  constructor(options: { readonly database: Database; readonly clock: Clock; readonly logger: Logger }) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => this.#run(), INTERVAL_MS);
  }

  /** Waits for a current run. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#timer);
    await this.#running;
  }

  #run(): void {
    this.#running ??= sumUpViews(this.#options, () => this.#isStopping)
      .catch((error) => this.#options.logger.warn({ err: error }, 'views not summed up, retrying in a minute'))
      .finally(() => {
        this.#running = undefined;
      });
  }
}
