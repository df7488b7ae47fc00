import pTimeout from 'p-timeout';
import type { Clock } from '../lib/clock.js';
import type { Logger } from '../telemetry/logger.js';

/** A part that was started, and how to end it. */
interface Phase {
  readonly name: string;
  readonly end: (limitMs: number) => unknown;
}

/** In the order in which the parts were started. */
export type Phases = Phase[];

const MIN_PHASE_MS = 1000;
/** The time for a part that has reached its limit to cut off its own work. */
const GRACE_MS = 500;

/** Ends the parts in reverse order. */
export const endPhases = async (
  phases: Phases,
  { limitMs, clock, logger }: { limitMs: number; clock: Clock; logger: Logger },
): Promise<void> => {
  const startedMs = clock.monotonicMs();
  for (const { name, end } of phases.splice(0).reverse()) {
    // Half of the remaining time, so that the last phases, which save the data, always have their share.
    const phaseMs = Math.max(MIN_PHASE_MS, (limitMs - (clock.monotonicMs() - startedMs)) / 2);
    try {
      const milliseconds = phaseMs + GRACE_MS;
      const message = `timed out after ${Math.round(milliseconds)} ms`;
      await pTimeout(Promise.resolve(end(phaseMs)), { milliseconds, message });
    } catch (error) {
      // The later phases, which close the database and release the lock, are more important than this failure.
      logger.error({ err: error, phase: name }, 'shutdown phase failed');
    }
  }
  logger.info({ elapsed_ms: clock.monotonicMs() - startedMs }, 'server stopped');
};
