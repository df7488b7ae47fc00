import type { Logger } from '../telemetry/logger.js';

const INTERVAL_MS = 60 * 60_000;

export interface HourlyWork {
  /** Runs the work now and every hour, never concurrently. */
  start(): void;
  /** Waits for a current run; `isStopping` tells that run to end. */
  stop(): Promise<void>;
}

/** @param failure the log message for a failed run; the next hour tries again */
export const createHourlyWork = (
  work: (isStopping: () => boolean) => Promise<unknown>,
  logger: Logger,
  failure: string,
): HourlyWork => {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<unknown> | undefined;
  let stopping = false;
  const tick = (): void => {
    running ??= work(() => stopping)
      .catch((error) => logger.warn({ err: error }, failure))
      .finally(() => {
        running = undefined;
      });
  };
  return {
    start: () => {
      tick();
      timer = setInterval(tick, INTERVAL_MS);
    },
    stop: async () => {
      stopping = true;
      clearInterval(timer);
      await running;
    },
  };
};
