import { writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

const LOWEST = constants.priority.PRIORITY_LOW;
/** About a tenth of what another group gets. The lowest value would be next to nothing on a busy machine. */
const GROUP_NICE = 10;
/** Without privileges, groups can be changed ten times a second on the whole machine. */
const AGAIN_MS = 150;
const MAX_TRIES = 10;

/**
 * Leaves to a process, and to all that it starts, what others leave of the processor. Linux compares nice values only
 * within a group, and makes a group of each session (`sched_autogroup`): a process with a session of its own would take
 * as much as the server in spite of nice 19, unless its group has a nice value too. Never rejects.
 */
export const lowerPriority = async (pid: number): Promise<void> => {
  try {
    setPriority(pid, LOWEST);
  } catch {
    // It has ended already.
    return;
  }
  for (let tries = 1; !setGroup(pid) && tries < MAX_TRIES; tries++) await delay(AGAIN_MS);
};

/** False when it is to be retried. */
const setGroup = (pid: number): boolean => {
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(GROUP_NICE));
    return true;
  } catch (error) {
    // Any other failure: there are no such groups here, or the process has ended.
    return (error as NodeJS.ErrnoException).code !== 'EAGAIN';
  }
};
