import { writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

const LOWEST = constants.priority.PRIORITY_LOW;
/**
 * About a tenth of another group's share. The lowest priority would get almost nothing on a busy
 * machine.
 */
const GROUP_NICE = 10;
/** Without privileges, the whole machine may change groups ten times per second. */
const AGAIN_MS = 150;
const MAX_TRIES = 10;

/**
 * Gives a process and its children only the CPU time that others leave. Linux compares nice values
 * only within a group, and each session is a group (`sched_autogroup`): a process in its own
 * session would get as much as the server despite nice 19, unless its group has a nice value too.
 * Never rejects.
 */
export const lowerPriority = async (pid: number): Promise<void> => {
  try {
    setPriority(pid, LOWEST);
  } catch {
    // The process has already ended.
    return;
  }
  for (let tries = 1; !setGroup(pid) && tries < MAX_TRIES; tries++) await delay(AGAIN_MS);
};

/** False when it must be retried. */
const setGroup = (pid: number): boolean => {
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(GROUP_NICE));
    return true;
  } catch (error) {
    // Any other failure: this system has no such groups, or the process has ended.
    return (error as NodeJS.ErrnoException).code !== 'EAGAIN';
  }
};
