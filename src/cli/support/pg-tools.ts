import { spawn } from 'node:child_process';
import { readEnvironment } from '../../config/environment.js';
import { KinoraError } from '../../lib/errors.js';

const run = async (program: string, databaseUrl: string, args: readonly string[]): Promise<void> => {
  // The password is passed in the environment, because every user of the machine can read
  // arguments.
  const url = new URL(databaseUrl);
  const password = decodeURIComponent(url.password);
  url.password = '';
  const child = spawn(program, ['--no-password', '--dbname', url.href, ...args], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...readEnvironment().env, ...(password !== '' && { PGPASSWORD: password }) },
  });
  const status = await new Promise<number | null>((resolve, reject) => {
    child.on('close', resolve);
    child.on('error', (cause) => {
      const messages = [`${program} can't be run; install the PostgreSQL client programs.`];
      reject(new KinoraError('unavailable', { messages, cause }));
    });
  });
  if (status !== 0) throw new KinoraError('unavailable', { messages: [`${program} failed; see its output above.`] });
};

/** @throws KinoraError `unavailable` */
export const dumpDatabase = (databaseUrl: string, file: string): Promise<void> =>
  run('pg_dump', databaseUrl, ['--format=custom', '--no-owner', '--file', file]);

/**
 * Restores everything or nothing, into an empty database.
 * @throws KinoraError `unavailable`
 */
export const restoreDatabase = (databaseUrl: string, file: string): Promise<void> =>
  run('pg_restore', databaseUrl, ['--no-owner', '--exit-on-error', '--single-transaction', file]);
