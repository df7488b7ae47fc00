import { mkdirSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
const PREFIX = 'kinora-tests-';
/** Seven times what a whole run uses at once. */
const NEEDED_BYTES = 8 * 2 ** 30;

export const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

const hasRoom = (): boolean => {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= NEEDED_BYTES;
  } catch {
    return false;
  }
};

/** A disk that a killed test has mounted there stays: it must not keep others from running. */
const remove = (directory: string): void => {
  try {
    rmSync(directory, { recursive: true, force: true });
  } catch (error) {
    console.warn(`files of an earlier run are not removed: ${String(error)}`);
  }
};

/**
 * Puts the temporary files of the run into memory where there is room, unless TMPDIR says
 * otherwise. The tests copy hundreds of databases, and a disk makes each of thousands of commits
 * wait.
 */
export default (): (() => void) | undefined => {
  if (process.env.TMPDIR !== undefined || !hasRoom()) return undefined;
  // A run that was killed could not remove its files.
  for (const name of readdirSync(MEMORY)) {
    if (name.startsWith(PREFIX) && !isRunning(Number(name.slice(PREFIX.length)))) remove(join(MEMORY, name));
  }
  const directory = join(MEMORY, `${PREFIX}${process.pid}`);
  mkdirSync(directory);
  process.env.TMPDIR = directory;
  return () => rmSync(directory, { recursive: true, force: true });
};
