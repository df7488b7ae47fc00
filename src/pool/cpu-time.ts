import { readFileSync } from 'node:fs';

/** Linux tells times to programs in hundredths of a second (USER_HZ), whatever it counts in itself. */
const MS_PER_TICK = 10;

/** CPU time of a process and of those that it has started and that still run, ms; undefined where there is no /proc. */
export const cpuTimeMs = (pid: number): number | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // After the name, which may hold anything: `utime` and `stime` are the 12th and 13th field (proc_pid_stat(5)).
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const own = (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').match(/\d+/g) ?? [];
    return children.reduce((sum, child) => sum + (cpuTimeMs(Number(child)) ?? 0), own);
  } catch {
    // Ended, or not on Linux: the deadline is what is left.
    return undefined;
  }
};
