import type { Clock } from '../lib/clock.js';
import { KinoraError } from '../lib/errors.js';

/** Keeps a source that kills media processes from doing so again and again at the request of viewers. */
export interface CrashMemory {
  count(file: string): void;
  /** @throws KinoraError `media_crashed` while the file is remembered */
  check(file: string): void;
}

const MAX_CRASHES = 2;
const REMEMBER_MS = 5 * 60_000;

export const createCrashMemory = (clock: Clock): CrashMemory => {
  const crashes = new Map<string, { count: number; untilMs: number }>();
  return {
    count(file) {
      const nowMs = clock.monotonicMs();
      for (const [id, { untilMs }] of crashes) if (untilMs <= nowMs) crashes.delete(id);
      crashes.set(file, { count: (crashes.get(file)?.count ?? 0) + 1, untilMs: nowMs + REMEMBER_MS });
    },
    check(file) {
      const known = crashes.get(file);
      if (!known || known.count < MAX_CRASHES || known.untilMs <= clock.monotonicMs()) return;
      throw new KinoraError('media_crashed', {
        details: { file, reason: 'crashed repeatedly', ...known },
      });
    },
  };
};
