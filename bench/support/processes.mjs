// Resource usage of a process and its descendants, from /proc.
import { readdirSync, readFileSync } from 'node:fs';

const read = (path) => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // It ended between the listing and the reading.
    return '';
  }
};

const statOf = (pid) => read(`/proc/${pid}/stat`).split(') ')[1]?.split(' ');

/** `root` and its descendants. */
const treeOf = (root) => {
  const parents = new Map();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const fields = statOf(name);
    if (fields) parents.set(Number(name), Number(fields[1]));
  }
  const tree = new Set([root]);
  for (let size = 0; size !== tree.size; ) {
    size = tree.size;
    for (const [pid, parent] of parents) if (tree.has(parent)) tree.add(pid);
  }
  return [...tree];
};

/** CPU seconds of one process alone. */
export const ownCpuSecondsOf = (pid) => {
  const [user, system] = statOf(pid).slice(11, 13);
  return (Number(user) + Number(system)) / 100;
};

/** CPU seconds of `root` and everything below it, including children that have ended. */
export const cpuSecondsOf = (root) => {
  let ticks = 0;
  for (const pid of treeOf(root)) {
    const fields = statOf(pid);
    if (fields) ticks += fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  }
  return ticks / 100;
};

/** CPU seconds of the media processes for background work below `root`. */
export const backgroundCpuSecondsOf = (root) =>
  treeOf(root)
    .filter((pid) => /\0background\0$/.test(read(`/proc/${pid}/cmdline`)) && statOf(pid))
    .reduce((sum, pid) => sum + ownCpuSecondsOf(pid), 0);

/** Resident set size in MB of one process alone. */
export const residentMegabytesOf = (pid) =>
  (Number(/^VmRSS:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) * 1024) / 1e6;

/** Proportional set size in MB: pages that several processes share are counted once. */
export const memoryOf = (root) => {
  const memory = { server: 0, media: 0 };
  for (const pid of treeOf(root)) {
    const kilobytes = Number(/^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0);
    memory[pid === root ? 'server' : 'media'] += (kilobytes * 1024) / 1e6;
  }
  return memory;
};
