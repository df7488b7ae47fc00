import { setTimeout as delay } from 'node:timers/promises';

/** A process that was started. */
interface Started {
  readonly exited: Promise<unknown>;
  stop(): Promise<unknown>;
}

export interface KeptRunning<S extends Started> {
  /** The process that runs, or the one that ended last. */
  readonly current: S;
  stop(): Promise<void>;
}

/**
 * Starts a process, and again whenever it ends. A start that fails is tried again: a port may still
 * be taken, or a service that it needs away. Only the first start rejects.
 */
export const keepRunning = async <S extends Started>(
  name: string,
  start: () => Promise<S>,
  pauseMs = 1000,
): Promise<KeptRunning<S>> => {
  let current = await start();
  let isStopping = false;
  const startAgain = async (): Promise<void> => {
    try {
      current = await start();
    } catch (error) {
      console.error(`${name} could not be started again: ${(error as Error).message}`);
      await delay(pauseMs);
    }
  };
  const keep = async (): Promise<void> => {
    while (!isStopping) {
      await current.exited;
      if (!isStopping) await startAgain();
    }
    await current.stop();
  };
  const kept = keep();
  return {
    get current() {
      return current;
    },
    stop: async () => {
      isStopping = true;
      await current.stop();
      await kept;
    },
  };
};
