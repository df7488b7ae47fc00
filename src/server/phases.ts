import pTimeout from 'p-timeout';
import type { Clock } from '../lib/clock.js';
import type { Logger } from '../telemetry/logger.js';

/** A part that was started and how to end it. */
interface Phase {
  readonly name: string;
  readonly end: (limitMs: number) => unknown;
}

/** In the order in which the parts were started. */
export type Phases = Phase[];

const MIN_PHASE_MS = 1000;
/** A part that cuts off its own work at its limit has this long to do so. */
const GRACE_MS = 500;

/** Ends the parts in reverse order. */
export const endPhases = async (
  phases: Phases,
  { limitMs, clock, logger }: { limitMs: number; clock: Clock; logger: Logger },
): Promise<void> => {
  const startedMs = clock.monotonicMs();
  for (const { name, end } of phases.splice(0).reverse()) {
    // Half of what is left, so that the last ones, which save the data, always have their share.
    const phaseMs = Math.max(MIN_PHASE_MS, (limitMs - (clock.monotonicMs() - startedMs)) / 2);
    try {
      const milliseconds = phaseMs + GRACE_MS;
      const message = `timed out after ${Math.round(milliseconds)} ms`;
      await pTimeout(Promise.resolve(end(phaseMs)), { milliseconds, message });
    } catch (error) {
      // The later phases matter more than this one's failure: closing the database and releasing the lock.
      logger.error({ err: error, phase: name }, 'shutdown phase failed');
    }
  }
  logger.info({ elapsed_ms: clock.monotonicMs() - startedMs }, 'server stopped');
};
