import { setTimeout as delay } from 'node:timers/promises';

/** Waits for work, at most this long. @throws Error when the time is up; the work itself goes on */
export const withTimeout = async (work: unknown, limitMs: number): Promise<void> => {
  const done = new AbortController();
  const limit = delay(limitMs, undefined, { signal: done.signal }).then(
    () => {
      throw new Error(`timed out after ${Math.round(limitMs)} ms`);
    },
    () => undefined,
  );
  try {
    await Promise.race([work, limit]);
  } finally {
    done.abort();
  }
};
