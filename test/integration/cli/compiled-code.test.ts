import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { kinoraVersion } from '#kinora/lib/version.js';
import { copyBuild } from '../../support/servers/other-build.js';
import { cleanUpServers, makeDataDir, startServer, until } from '../../support/servers/server-process.js';

const build = copyBuild();
afterAll(async () => {
  await cleanUpServers();
  build.remove();
});
const dist = dirname(dirname(build.program));
const bundle = join(dist, 'bundle');

const run = (...args: string[]): string =>
  execFileSync(process.execPath, args, {
    encoding: 'utf8',
    env: {},
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60_000,
  }).trim();
const version = (...flags: string[]): string => run(...flags, build.program, '--version');
/** Each file's inode, which changes when it is replaced. */
const stored = (): Map<string, number> =>
  new Map(
    readdirSync(bundle)
      .filter((name) => name.includes('.cache'))
      .map((name) => [name, statSync(join(bundle, name)).ino]),
  );
const clear = (): void => {
  for (const name of stored().keys()) rmSync(join(bundle, name), { recursive: true });
};

const flip = (bytes: Buffer, at: number): Buffer => {
  bytes[at]! ^= 0xff;
  return bytes;
};

beforeEach(clear);

it('is stored by the first command and used by the next', () => {
  expect(version()).toBe(kinoraVersion());
  const first = stored();
  expect([...first.keys()].some((name) => name.startsWith('run-'))).toBe(true);
  // Code that V8 rejects is replaced.
  expect(version()).toBe(kinoraVersion());
  expect(stored()).toEqual(first);
  // The command's umask is 077, but every user of an installation may use it.
  for (const name of first.keys()) expect(statSync(join(bundle, name)).mode & 0o777).toBe(0o644);
});

it('of processes with other flags is beside it', () => {
  version();
  const first = stored();
  version('--no-opt');
  const both = stored();
  expect(both.size).toBe(2 * first.size);
  for (const [name, ino] of first) expect(both.get(name)).toBe(ino);
});

it('that is a pipe or a folder does not keep a process from starting', () => {
  version();
  for (const name of stored().keys()) {
    rmSync(join(bundle, name));
    execFileSync('mkfifo', [join(bundle, name)]);
  }
  expect(version()).toBe(kinoraVersion());
  for (const name of stored().keys()) {
    rmSync(join(bundle, name));
    mkdirSync(join(bundle, name));
  }
  expect(version()).toBe(kinoraVersion());
});

it('is replaced when it is damaged', () => {
  version();
  for (const damage of [
    (bytes: Buffer) => flip(bytes, Math.floor(bytes.length / 4)),
    (bytes: Buffer) => flip(bytes, bytes.length - 1),
    (bytes: Buffer) => bytes.fill(0),
    (bytes: Buffer) => bytes.subarray(0, bytes.length / 3),
    (bytes: Buffer) => bytes.subarray(0, 0),
  ]) {
    const before = stored();
    for (const name of before.keys()) writeFileSync(join(bundle, name), damage(readFileSync(join(bundle, name))));
    expect(version()).toBe(kinoraVersion());
    const after = stored();
    for (const [name, ino] of before) expect(after.get(name), name).not.toBe(ino);
  }
});

it('is not needed where it cannot be stored', () => {
  version();
  const names = [...stored().keys()];
  clear();
  for (const name of names) mkdirSync(join(bundle, name));
  expect(version()).toBe(kinoraVersion());
  expect([...stored().keys()]).toEqual(names);
});

it('of a server is stored while it runs', async () => {
  const server = await startServer({ dataDir: makeDataDir(), program: build.program });
  await until('it is stored', () => [...stored().keys()].some((name) => /^server-.*\.cache$/.test(name)));
  await server.kill();
});

it('of media processes is stored by the build alone', () => {
  const start = join(dist, 'engine/start.js');
  // No channel: it ends at once.
  expect(() => run(start)).toThrow();
  expect(stored().size).toBe(0);
  run(start, 'compile');
  const built = stored();
  expect([...built.keys()].some((name) => name.startsWith('engine-'))).toBe(true);
  run(start, 'compile');
  expect(stored()).toEqual(built);
  // The directory that was copied is a build, and has it too.
  const own = new URL('../../../dist/bundle/', import.meta.url);
  for (const name of built.keys()) expect(readdirSync(own)).toContain(name);
});
