import { backoffMs } from '../lib/backoff.js';
import type { Clock } from '../lib/clock.js';
import { newId } from '../lib/ids.js';
import type { Logger } from '../telemetry/logger.js';
import { Lease } from './lease.js';

/**
 * What only one server may run at a time. An interface, because tests run a task that fails at
 * random.
 */
export interface LeaderTask {
  /**
   * Starts the task; what it throws is tried again later, here or on another server, so it must
   * undo what it did.
   * @param mayRun turns false at the moment when the task must stop, before `stop` is called
   */
  start(mayRun: () => boolean): Promise<void>;
  /** Stops the task within two seconds, whatever the database does. */
  stop(): Promise<void>;
}

export interface LeadershipOptions {
  /** Of the task. */
  readonly name: string;
  readonly task: LeaderTask;
  /**
   * Takes the lease for `LEASE_SECONDS`, or renews that of the same holder; false while another one
   * has it.
   */
  readonly take: (holder: string) => Promise<boolean>;
  /** Releases the lease if this holder has it. */
  readonly release: (holder: string) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export const LEASE_SECONDS = 10;
const RENEW_MS = 2000;
/**
 * The task stops so long before the lease ends: it has two seconds for it, and timers may be late.
 */
const MARGIN_MS = 3000;
const RUN_MS = LEASE_SECONDS * 1000 - MARGIN_MS;
/** The first pause is long enough for another server to take the lease. */
const START_BACKOFF = { baseMs: 5000, maxMs: 60_000 };

/**
 * Runs a task while this server has the lease. Each time that the server leads it is a new holder:
 * an earlier query that reaches the database late neither renews the lease nor releases it.
 */
export class Leadership {
  readonly #options: LeadershipOptions;
  readonly #timer: NodeJS.Timeout;
  #holder = newId();
  /** While this server leads. */
  #lease: Lease | undefined;
  #isRunning = false;
  /** The task starts and stops in turn. */
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

  /** Stops the task and releases the lease to whoever asks for it. */
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
        if (isTaken && !this.#lease?.isOver) this.#lead(askedMs + RUN_MS);
        else if (this.#lease) void this.#quit();
      } else if (isTaken) {
        // Taken after this server had released it.
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
    const lease = new Lease(clock, untilMs, () => void this.#quit());
    this.#lease = lease;
    this.#turn = this.#turn.then(() => this.#start(lease));
  }

  async #start(lease: Lease): Promise<void> {
    const { clock, logger, name, task } = this.#options;
    if (lease.isOver) return;
    try {
      await task.start(() => !lease.isOver);
      this.#isRunning = true;
      this.#failures = 0;
    } catch (error) {
      this.#failures += 1;
      const pauseMs = backoffMs(this.#failures, START_BACKOFF);
      this.#pausedUntilMs = clock.monotonicMs() + pauseMs;
      logger.error({ err: error, lease: name, retry_ms: pauseMs }, 'task of a lease not started, will be tried again');
      if (this.#lease === lease) void this.#quit();
    }
  }

  /** Stops the task and then releases the lease. */
  async #quit(): Promise<void> {
    const holder = this.#holder;
    this.#holder = newId();
    this.#lease?.cancel();
    this.#lease = undefined;
    this.#turn = this.#turn.then(() => this.#stopTask());
    await this.#turn;
    await this.#release(holder);
  }

  async #stopTask(): Promise<void> {
    if (!this.#isRunning) return;
    this.#isRunning = false;
    const { logger, name, task } = this.#options;
    await task
      .stop()
      .catch((error: unknown) => logger.error({ err: error, lease: name }, 'task of a lease not stopped'));
  }

  /** Without a response of the database, the lease ends by itself. */
  async #release(holder: string): Promise<void> {
    const { logger, name, release } = this.#options;
    await release(holder).catch((error: unknown) => logger.warn({ err: error, lease: name }, 'lease not released'));
  }
}
