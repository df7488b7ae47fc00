import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { DataDirLock } from '#kinora/db/data-dir-lock.js';
import { runScript } from '../../support/processes/child.js';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'kinora-lock-'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(dataDir, { recursive: true });
});
const never = (): void => {
  throw new Error('the lock was lost');
};

const HOLD = `
  const { DataDirLock } = await kinora('db/data-dir-lock.js');
  try {
    await DataDirLock.acquire(process.argv[1], () => { console.log('lost'); process.exit(3); });
    console.log('locked');
    setInterval(() => {}, 1000);
  } catch (error) {
    console.log(error.code);
  }`;

it('lets one process in, and the next when that one was killed', async () => {
  const first = runScript(HOLD, [dataDir]);
  await first.waitForLine('locked');
  await expect(DataDirLock.acquire(dataDir, never)).rejects.toMatchObject({
    code: 'data_dir_in_use',
    message: `The data directory ${dataDir} is in use by another Kinora process (process ID ${first.process.pid}).`,
  });
  first.process.kill('SIGKILL');
  await first.closed;
  const lock = await vi.waitFor(() => DataDirLock.acquire(dataDir, never), { timeout: 120_000 });
  await lock.release();
  await lock.release();
  await (await DataDirLock.acquire(dataDir, never)).release();
});

it('has exactly one winner in a race', async () => {
  const racers = [1, 2, 3, 4].map(() => runScript(HOLD, [dataDir]));
  await vi.waitFor(() => expect(racers.flatMap(({ lines }) => lines)).toHaveLength(4), { timeout: 120_000 });
  expect(racers.flatMap(({ lines }) => lines).sort()).toEqual([
    'data_dir_in_use',
    'data_dir_in_use',
    'data_dir_in_use',
    'locked',
  ]);
  for (const racer of racers) racer.process.kill('SIGKILL');
  await Promise.all(racers.map(({ closed }) => closed));
});

/** The direct children of a process. */
const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);

it('outlasts the signals of a shutdown and tells when it is lost', async () => {
  const holder = runScript(HOLD, [dataDir]);
  await holder.waitForLine('locked');
  const [guard] = childrenOf(holder.process.pid!);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(guard!, signal);
  for (const child of childrenOf(guard!)) process.kill(child, 'SIGTERM');
  await expect(DataDirLock.acquire(dataDir, never)).rejects.toMatchObject({ code: 'data_dir_in_use' });
  expect(holder.lines).toEqual(['locked']);
  process.kill(guard!, 'SIGKILL');
  expect(await holder.closed).toEqual([3, null]);
  expect(holder.lines).toEqual(['locked', 'lost']);
});

it('does not keep its process alive', async () => {
  const child = runScript(HOLD.replace(/setInterval.*/, ''), [dataDir]);
  expect(await child.closed).toEqual([0, null]);
  expect(child.lines).toEqual(['locked']);
});

it('says what to install where flock is missing, and what is wrong with the directory', async () => {
  await expect(DataDirLock.acquire('/dev/null/kinora', never)).rejects.toMatchObject({ code: 'config_invalid' });
  vi.stubEnv('PATH', dataDir);
  await expect(DataDirLock.acquire(dataDir, never)).rejects.toThrow('install the package "util-linux"');
  vi.unstubAllEnvs();
  expect(execFileSync('flock', ['--version']).toString()).toContain('util-linux');
});
