import pTimeout from 'p-timeout';
import type { Clock } from '../lib/clock.js';
import type { Logger } from '../telemetry/logger.js';

/** A part that was started, and how to end it. */
interface Phase {
  readonly name: string;
  readonly end: (limitMs: number) => unknown;
}

const MIN_PHASE_MS = 1000;
/** The time for a part that has reached its limit to cut off its own work. */
const GRACE_MS = 500;

/** The parts that were started, as a stack: the last one ends first. */
export class Phases {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #phases: Phase[] = [];

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  push(phase: Phase): void {
    this.#phases.push(phase);
  }

  /** Ends the parts in reverse order, and logs `message`. */
  async end(limitMs: number, message: string): Promise<void> {
    if (this.#phases.length === 0) return;
    const startedMs = this.#clock.monotonicMs();
    for (const { name, end } of this.#phases.splice(0).reverse()) {
      // Half of the remaining time, so that the last phases, which save the data, always have their
      // share.
      const phaseMs = Math.max(MIN_PHASE_MS, (limitMs - (this.#clock.monotonicMs() - startedMs)) / 2);
      try {
        const milliseconds = phaseMs + GRACE_MS;
        const timeout = `timed out after ${Math.round(milliseconds)} ms`;
        await pTimeout(Promise.resolve(end(phaseMs)), { milliseconds, message: timeout });
      } catch (error) {
        // The later phases, which close the database and release the lock, are more important than
        // this failure.
        this.#logger.error({ err: error, phase: name }, 'shutdown phase failed');
      }
    }
    this.#logger.info({ elapsed_ms: this.#clock.monotonicMs() - startedMs }, message);
  }
}
