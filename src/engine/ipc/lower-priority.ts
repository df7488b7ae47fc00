import { readdirSync, readFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';

/** Where /proc belongs to an outer namespace, its names of threads are not those of this one. */
const ownIdOf = (thread: string): number => {
  const status = readFileSync(`/proc/self/task/${thread}/status`, 'latin1');
  return Number(/^NSpid:.*\s(\d+)$/m.exec(status)?.[1] ?? thread);
};

/**
 * Lowers the priority of every thread of this process. Linux gives each thread its own, so the
 * threads that exist, such as the pool in which frames are encoded, would keep theirs.
 */
export const lowerPriority = (): void => {
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  for (const thread of readdirSync('/proc/self/task')) {
    try {
      setPriority(ownIdOf(thread), constants.priority.PRIORITY_BELOW_NORMAL);
    } catch {
      // The thread has ended.
    }
  }
};
