import { readFileSync } from 'node:fs';

/**
 * The nice value of a process's group of scheduling; undefined where the system makes no groups of
 * sessions.
 */
export const groupNice = (pid: number): number | undefined => {
  try {
    if (readFileSync('/proc/sys/kernel/sched_autogroup_enabled', 'utf8').trim() !== '1') return undefined;
    return Number(/nice (-?\d+)/.exec(readFileSync(`/proc/${pid}/autogroup`, 'utf8'))?.[1]);
  } catch {
    // A system without them.
    return undefined;
  }
};
