import { readFileSync } from 'node:fs';

/** Linux reports times to programs in hundredths of a second (USER_HZ), independent of its internal clock. */
const MS_PER_TICK = 10;

/** CPU time in ms of a process and of its children that still run; undefined without /proc. */
export const cpuTimeMs = (pid: number): number | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name may contain any character. After it, `utime` and `stime` are fields 12 and 13 (proc_pid_stat(5)).
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const own = (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').match(/\d+/g) ?? [];
    return children.reduce((sum, child) => sum + (cpuTimeMs(Number(child)) ?? 0), own);
  } catch {
    // The process has ended, or the system is not Linux: only the deadline applies.
    return undefined;
  }
};
