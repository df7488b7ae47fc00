import { backoffMs } from '../lib/backoff.js';
import type { Clock } from '../lib/clock.js';
import { newId } from '../lib/ids.js';
import type { Logger } from '../telemetry/logger.js';
import { LeaseEnd } from './lease-end.js';

/** Work that only one server may do at a time. */
export interface LedWork {
  /**
   * Starts the work; what it throws is tried again later, here or on another server, so it must undo what it did.
   * @param mayWork turns false at the moment when the work must stop, before `end` is called
   */
  begin(mayWork: () => boolean): Promise<void>;
  /** Stops the work within two seconds, whatever the database does. */
  end(): Promise<void>;
}

export interface LeadershipOptions {
  /** Of the work. */
  readonly name: string;
  readonly work: LedWork;
  /** Takes the lease for `LEASE_SECONDS`, or renews that of the same holder; false while another one has it. */
  readonly take: (holder: string) => Promise<boolean>;
  /** Gives the lease back if this holder has it. */
  readonly release: (holder: string) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export const LEASE_SECONDS = 10;
const RENEW_MS = 2000;
/** The work stops so long before the lease ends: it has two seconds for it, and timers may be late. */
const MARGIN_MS = 3000;
const WORK_MS = LEASE_SECONDS * 1000 - MARGIN_MS;
/** The first pause is long enough for another server to take the lease. */
const BEGIN_BACKOFF = { baseMs: 5000, maxMs: 60_000 };

/**
 * Does the work while this server has the lease. Each time that the server leads it is a new holder: a query of an earlier time that the
 * database gets late neither renews the lease nor gives it back.
 */
export class Leadership {
  readonly #options: LeadershipOptions;
  readonly #timer: NodeJS.Timeout;
  #holder = newId();
  /** While this server leads. */
  #lease: LeaseEnd | undefined;
  /** The work has begun and not ended. */
  #isBegun = false;
  /** The work begins and ends in turn. */
  #turn: Promise<void> = Promise.resolve();
  #isAsking = false;
  #stopped: Promise<void> | undefined;
  #failures = 0;
  #pausedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: LeadershipOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.#ask(), RENEW_MS);
    void this.#ask();
  }

  /** Ends the work and gives the lease to whoever asks for it. */
  stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopped ??= this.#quit();
    return this.#stopped;
  }

  async #ask(): Promise<void> {
    const { clock, logger, name, take } = this.#options;
    const askedMs = clock.monotonicMs();
    if (this.#isAsking || askedMs < this.#pausedUntilMs) return;
    this.#isAsking = true;
    const holder = this.#holder;
    try {
      const isTaken = await take(holder);
      if (holder === this.#holder) {
        if (isTaken && !this.#lease?.isOver) this.#lead(askedMs + WORK_MS);
        else if (this.#lease) void this.#quit();
      } else if (isTaken) {
        // Taken after this server had let go.
        await this.#turn;
        await this.#release(holder);
      }
    } catch (error) {
      logger.warn({ err: error, lease: name }, 'lease not renewed');
    } finally {
      this.#isAsking = false;
    }
  }

  #lead(untilMs: number): void {
    const { clock } = this.#options;
    this.#lease?.extend(untilMs);
    if (this.#lease || clock.monotonicMs() >= untilMs) return;
    const lease = new LeaseEnd(clock, untilMs, () => void this.#quit());
    this.#lease = lease;
    this.#turn = this.#turn.then(() => this.#begin(lease));
  }

  async #begin(lease: LeaseEnd): Promise<void> {
    const { clock, logger, name, work } = this.#options;
    if (lease.isOver) return;
    try {
      await work.begin(() => !lease.isOver);
      this.#isBegun = true;
      this.#failures = 0;
    } catch (error) {
      this.#failures += 1;
      const pauseMs = backoffMs(this.#failures, BEGIN_BACKOFF);
      this.#pausedUntilMs = clock.monotonicMs() + pauseMs;
      logger.error({ err: error, lease: name, retry_ms: pauseMs }, 'work of a lease not begun, will be tried again');
      if (this.#lease === lease) void this.#quit();
    }
  }

  /** Ends the work and then the lease. */
  async #quit(): Promise<void> {
    const holder = this.#holder;
    this.#holder = newId();
    this.#lease?.cancel();
    this.#lease = undefined;
    this.#turn = this.#turn.then(() => this.#end());
    await this.#turn;
    await this.#release(holder);
  }

  async #end(): Promise<void> {
    if (!this.#isBegun) return;
    this.#isBegun = false;
    const { logger, name, work } = this.#options;
    await work.end().catch((error: unknown) => logger.error({ err: error, lease: name }, 'work of a lease not ended'));
  }

  /** Without an answer of the database, the lease ends by itself. */
  async #release(holder: string): Promise<void> {
    const { logger, name, release } = this.#options;
    await release(holder).catch((error: unknown) => logger.warn({ err: error, lease: name }, 'lease not given back'));
  }
}
