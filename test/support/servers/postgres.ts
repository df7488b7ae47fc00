import { execFile } from 'node:child_process';
import { chmodSync, chownSync, existsSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { freePort } from './free-port.js';

const run = promisify(execFile);
const DEBIAN_DIR = '/usr/lib/postgresql';

const programs = (): string | undefined => {
  if (!existsSync(DEBIAN_DIR)) return undefined;
  const versions = readdirSync(DEBIAN_DIR).filter((name) => existsSync(join(DEBIAN_DIR, name, 'bin/initdb')));
  const oldest = versions.sort((a, b) => Number(a) - Number(b))[0];
  return oldest && join(DEBIAN_DIR, oldest, 'bin');
};

/** False, with a warning, where PostgreSQL is not installed; in CI that is a failure. */
export const hasPostgres = (): boolean => {
  if (programs()) return true;
  const text = 'PostgreSQL is not installed (Debian: apt-get install postgresql); its tests cannot run';
  if (process.env.CI === 'true') throw new Error(text);
  console.warn(`SKIPPED: ${text}`);
  return false;
};

export interface TestPostgres {
  /** Makes an empty database. @returns its URL */
  createDatabase(name: string): Promise<string>;
  /** Ends the server as a crash would; `resume` starts it again on the same port. */
  halt(): Promise<void>;
  resume(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * A disposable server of the oldest installed version, on a port of its own, with its data below
 * `parent`. The programs refuse to run as root.
 */
export const startPostgres = async (parent = tmpdir()): Promise<TestPostgres> => {
  const bin = programs();
  if (!bin) throw new Error('PostgreSQL is not installed');
  const dir = await mkdtemp(join(parent, 'kinora-postgres-'));
  const data = join(dir, 'data');
  const asRoot = process.getuid?.() === 0;
  if (asRoot) {
    const ids = await Promise.all(['-u', '-g'].map((flag) => run('id', [flag, 'postgres'])));
    const [uid, gid] = ids.map(({ stdout }) => Number(stdout));
    chownSync(dir, uid!, gid!);
    chmodSync(dir, 0o700);
  }
  const program = (name: string, args: string[]) =>
    asRoot
      ? run('runuser', ['-u', 'postgres', '--', join(bin, name), ...args], { cwd: '/' })
      : run(join(bin, name), args);
  const port = await freePort();
  await program('initdb', ['-D', data, '-U', 'postgres', '--auth=trust', '--no-sync', '--encoding=UTF8']);
  const settings = `-p ${port} -k ${dir} -c listen_addresses=127.0.0.1 -c fsync=off -c full_page_writes=off`;
  const start = async () => {
    await program('pg_ctl', ['-D', data, '-w', '-o', settings, '-l', join(dir, 'log'), 'start']);
  };
  const halt = async () => {
    await program('pg_ctl', ['-D', data, '-m', 'immediate', 'stop']);
  };
  await start();
  const url = (name: string): string => `postgres://postgres@127.0.0.1:${port}/${name}`;
  return {
    createDatabase: async (name) => {
      const client = new pg.Client({ connectionString: url('postgres') });
      await client.connect();
      await client.query(`create database ${name}`);
      await client.end();
      return url(name);
    },
    halt,
    resume: start,
    stop: async () => {
      await halt();
      await rm(dir, { recursive: true, force: true });
    },
  };
};
