import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { KinoraError } from '../lib/errors.js';
import { makeDataDir } from './data-dir.js';

export interface DataDirLock {
  release(): Promise<void>;
}

const TAKEN = 75;
const NOT_FOUND = 127;

/**
 * Only the kernel's lock on an open file ends with its holder, even after `kill -9`, and Node has no call for it; so a child
 * (`flock` of util-linux) holds it as long as the pipe to its stdin is open. It is deaf to the signals that a terminal or a
 * service manager sends to the whole group, for the lock must outlast the shutdown that they begin.
 */
const SCRIPT = 'trap "" HUP INT TERM; exec flock -n -x -E 75 "$1" cat';

/**
 * Makes this process the only user of `dataDir`, which is created when missing: the embedded database, the sources and the
 * cache all rely on it. `onLost` is called when the lock goes away without `release`; the process must then stop at once.
 * @throws KinoraError `data_dir_in_use`, or `config_invalid` when the directory cannot be locked
 */
export const acquireDataDirLock = async (dataDir: string, onLost: () => void): Promise<DataDirLock> => {
  await makeDataDir(dataDir);
  const path = join(dataDir, 'lock');
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'kinora-lock', path], {
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  const exited = once(child, 'exit');
  let errorText = '';
  child.stderr.on('data', (chunk) => {
    errorText += chunk;
  });
  // A child that is gone breaks the pipe; its exit tells why.
  child.stdin.on('error', () => {});
  // `cat` answers only after `flock` has the lock.
  child.stdin.write('.');
  const code = await Promise.race([
    once(child.stdout, 'data').then(() => undefined),
    exited.then(([status]) => status),
  ]);
  if (code === TAKEN) {
    const holder = (await readFile(path, 'utf8').catch(() => '')).trim();
    throw new KinoraError('data_dir_in_use', {
      messages: [
        `The data directory ${dataDir} is in use by another Kinora process${holder && ` (process ID ${holder})`}.`,
      ],
    });
  }
  if (code === NOT_FOUND) {
    throw new KinoraError('config_invalid', {
      messages: ['The command "flock" was not found; install the package "util-linux".'],
    });
  }
  if (code !== undefined) {
    throw new KinoraError('config_invalid', {
      messages: [
        `The data directory ${dataDir} cannot be locked: ${errorText.trim() || `flock ended with status ${code}`}.`,
      ],
    });
  }

  // For the message of whoever comes next; it means nothing once the lock is gone.
  await writeFile(path, `${process.pid}\n`);

  let released = false;
  void exited.then(() => {
    if (!released) onLost();
  });
  // The lock must not keep a process alive that has nothing else to do.
  child.unref();
  for (const stream of [child.stdin, child.stdout, child.stderr]) (stream as unknown as { unref(): void }).unref();
  return {
    release: async () => {
      if (released) return;
      released = true;
      child.ref();
      child.stdin.end();
      await exited;
    },
  };
};
