import type { Database } from '../db/database.js';
import { listWatchedAssets } from '../db/tables/playback/av1.js';
import { queues } from '../domain/queues.js';
import type { Clock } from '../lib/clock.js';
import type { Queue } from '../queue/queue.js';
import type { Logger } from '../telemetry/logger.js';

interface WatchedSearchOptions {
  readonly database: Database;
  readonly queue: Queue;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How many times its duration an asset is delivered before its AV1 ladder is prepared. */
  readonly factor: number;
  /** Time between searches; a minute by default. */
  readonly intervalMs?: number;
}

const INTERVAL_MS = 60_000;
/** What edges deliver, and what waits for the database, is counted late. */
const LATE_MS = 5 * 60_000;
const WEEK_MS = 7 * 24 * 3_600_000;
/** Others are for the next search. */
const MAX_WATCHED = 100;

/** Looks for assets that are watched, and has their AV1 ladders prepared. */
export class WatchedSearch {
  readonly #options: WatchedSearchOptions;
  readonly #timer: NodeJS.Timeout;
  #running: Promise<void> | undefined;
  /** The first search covers what was delivered while no server was there. */
  #reachMs = WEEK_MS;

  constructor(options: WatchedSearchOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#tick(), options.intervalMs ?? INTERVAL_MS);
    this.#tick();
  }

  /** Waits for a current search. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }

  #tick(): void {
    this.#running ??= this.#search()
      .catch((error) => this.#options.logger.warn({ err: error }, 'search for watched assets failed, retrying'))
      .finally(() => {
        this.#running = undefined;
      });
  }

  async #search(): Promise<void> {
    const { database, queue, clock, factor } = this.#options;
    const nowMs = clock.now().getTime();
    const watched = await listWatchedAssets(database.queryable, {
      since: new Date(nowMs - this.#reachMs),
      from: new Date(nowMs - WEEK_MS),
      factor,
      limit: MAX_WATCHED,
    });
    for (const assetId of watched) await queue.enqueue(queues.prepareAv1, { assetId });
    if (watched.length < MAX_WATCHED) this.#reachMs = LATE_MS;
  }
}
