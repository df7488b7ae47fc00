import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { KinoraError } from '../lib/errors.js';
import { makeDataDir } from './data-dir.js';

const TAKEN = 75;
const NOT_FOUND = 127;

/**
 * Only a kernel lock on a file is released even after `kill -9`. Node has no call for it, so a
 * child (`flock` of util-linux) holds it while the pipe to its stdin is open. It ignores signals
 * that a terminal or a service manager sends to the whole process group, because the lock must
 * outlast the shutdown.
 */
const SCRIPT = 'trap "" HUP INT TERM; exec flock -n -x -E 75 "$1" cat';

/**
 * Makes this process the only user of a data directory. The embedded database, the sources and the
 * cache rely on this.
 */
export class DataDirLock {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  #released = false;

  /**
   * Creates the directory if it is missing. `onLost` is called when the lock is lost without
   * `release`; the process must then stop immediately.
   * @throws KinoraError `data_dir_in_use`, or `config_invalid` when the directory cannot be locked
   */
  static async acquire(dataDir: string, onLost: () => void): Promise<DataDirLock> {
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
    // Writing to a child that has exited breaks the pipe; the exit status tells why it exited.
    child.stdin.on('error', () => {});
    // `cat` answers only after `flock` has the lock.
    child.stdin.write('.');
    const code = await Promise.race([
      once(child.stdout, 'data').then(() => undefined),
      exited.then(([status]) => status as number),
    ]);
    if (code !== undefined) throw await explainExit(dataDir, path, code, errorText.trim());
    // Shown in the error message of the next process that tries to lock; it has no meaning once the
    // lock is released.
    await writeFile(path, `${process.pid}\n`);
    // The lock must not keep the process alive when it has nothing else to do.
    child.unref();
    for (const stream of [child.stdin, child.stdout, child.stderr]) (stream as unknown as { unref(): void }).unref();
    return new DataDirLock(child, exited, onLost);
  }

  private constructor(child: ChildProcess, exited: Promise<unknown>, onLost: () => void) {
    this.#child = child;
    this.#exited = exited;
    void exited.then(() => {
      if (!this.#released) onLost();
    });
  }

  async release(): Promise<void> {
    if (this.#released) return;
    this.#released = true;
    this.#child.ref();
    this.#child.stdin!.end();
    await this.#exited;
  }
}

/** Says why `flock` did not get the lock. */
const explainExit = async (dataDir: string, path: string, code: number, errorText: string): Promise<KinoraError> => {
  if (code === TAKEN) {
    const holder = (await readFile(path, 'utf8').catch(() => '')).trim();
    const process = holder && ` (process ID ${holder})`;
    const message = `The data directory ${dataDir} is in use by another Kinora process${process}.`;
    return new KinoraError('data_dir_in_use', { messages: [message] });
  }
  const message =
    code === NOT_FOUND
      ? 'The command "flock" was not found; install the package "util-linux".'
      : `The data directory ${dataDir} cannot be locked: ${errorText || `flock ended with status ${code}`}.`;
  return new KinoraError('config_invalid', { messages: [message] });
};
