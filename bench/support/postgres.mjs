// A disposable PostgreSQL of the newest installed version with its default settings. Its programs
// refuse to run as root.
import { execFile, execFileSync } from 'node:child_process';
import { chownSync, existsSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const DEBIAN_DIR = '/usr/lib/postgresql';

/** Where the programs are; undefined when PostgreSQL is not installed. */
export const postgresPrograms = () => {
  const versions = existsSync(DEBIAN_DIR) ? readdirSync(DEBIAN_DIR).sort((a, b) => Number(a) - Number(b)) : [];
  const bin = versions.length > 0 && join(DEBIAN_DIR, versions.at(-1), 'bin');
  return bin && existsSync(join(bin, 'initdb')) ? bin : undefined;
};

export const startPostgres = async () => {
  const bin = postgresPrograms();
  const dir = await mkdtemp(join(tmpdir(), 'kinora-bench-postgres-'));
  const data = join(dir, 'data');
  const asRoot = process.getuid() === 0;
  if (asRoot) {
    const id = (flag) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
    chownSync(dir, id('-u'), id('-g'));
  }
  const program = (name, args) =>
    asRoot
      ? run('runuser', ['-u', 'postgres', '--', join(bin, name), ...args], { cwd: '/' })
      : run(join(bin, name), args);
  await program('initdb', ['-D', data, '-U', 'postgres', '--auth=trust', '--no-sync', '--encoding=UTF8']);
  // Only its socket: no port can be taken.
  await program('pg_ctl', [
    '-D',
    data,
    '-w',
    '-o',
    `-k ${dir} -c listen_addresses=''`,
    '-l',
    join(dir, 'log'),
    'start',
  ]);
  return {
    url: `postgres://postgres@localhost/postgres?host=${encodeURIComponent(dir)}`,
    stop: async () => {
      await program('pg_ctl', ['-D', data, '-m', 'immediate', 'stop']);
      await rm(dir, { recursive: true, force: true });
    },
  };
};
