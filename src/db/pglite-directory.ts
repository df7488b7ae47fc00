import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { KinoraError } from '../lib/errors.js';
import { makeDirectory } from '../lib/make-directory.js';
import { syncPath } from '../lib/sync-path.js';
import type { Logger } from '../telemetry/logger.js';

/**
 * The major version of PostgreSQL in the pinned PGlite; it cannot open the directory of another
 * major version.
 */
const PG_MAJOR = '18';

/**
 * The engine copies its template without a sync, so the files could be lost in a power failure
 * after the rename.
 */
const syncTree = async (directory: string): Promise<void> => {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile() || entry.isDirectory());
  for (const path of [directory, ...paths.map((entry) => join(entry.parentPath, entry.name))]) await syncPath(path);
};

/**
 * Creates the database next to its final place and moves it there when it is complete: if `initdb`
 * is interrupted, the directory can contain a PG_VERSION but never open again.
 */
export const createDirectory = async (directory: string, logger: Logger): Promise<void> => {
  logger.info({}, 'creating the database (only once, takes some seconds)');
  const parent = dirname(directory);
  await makeDirectory(parent);
  for (const name of await readdir(parent)) {
    if (name.startsWith(`${basename(directory)}.new-`))
      await rm(join(parent, name), { recursive: true, force: true, maxRetries: 5 });
  }
  const fresh = `${directory}.new-${process.pid}`;
  // Runs in a separate process: initdb uses 800 MB, and a thread would leave 100 MB of it in the
  // server for good. The process lives for seconds: optimizing its WebAssembly takes 2 of the 5 s
  // of CPU time without any benefit.
  const child = fork(new URL('./create-pglite.js', import.meta.url), [fresh], {
    execArgv: ['--liftoff-only'],
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  });
  let errorText = '';
  child.stderr!.on('data', (chunk) => {
    errorText += chunk;
  });
  const [code, signal] = await once(child, 'close');
  if (code !== 0) {
    await rm(fresh, { recursive: true, force: true });
    throw new Error(
      `the process that creates the database ended with ${signal ?? `code ${code}`}: ${errorText.trim()}`,
    );
  }
  await syncTree(fresh);
  await rename(fresh, directory);
  await syncPath(parent);
};

/**
 * @throws KinoraError `config_invalid` when another version of PostgreSQL made the directory, or
 * none did
 */
export const checkVersion = async (directory: string): Promise<void> => {
  const version = await readFile(join(directory, 'PG_VERSION'), 'utf8').then(
    (text) => text.trim(),
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    },
  );
  if (version === PG_MAJOR) return;
  const problem = version === undefined ? 'is not a database directory' : `was made by PostgreSQL ${version}`;
  throw new KinoraError('config_invalid', {
    messages: [
      `The directory ${directory} ${problem}; this version of Kinora opens PostgreSQL ${PG_MAJOR} directories only. ` +
        'Use the version of Kinora that created it, or move its contents with a backup.',
    ],
  });
};
