import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { DataDirLock } from '#kinora/db/data-dir-lock.js';
import { systemClock } from '#kinora/lib/clock.js';
import { chooseSandbox } from '#kinora/pool/sandbox.js';
import { quietLogger } from '../../support/logger.js';
import { runCli } from '../../support/processes/run-cli.js';

const directory = mkdtempSync(join(tmpdir(), 'kinora-bundle-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/**
 * The files of scripts that a process has compiled: Node.js writes them down for measures of
 * coverage.
 */
const loadedFiles = (coverage: string): string[] =>
  readdirSync(coverage)
    .flatMap((name) => JSON.parse(readFileSync(join(coverage, name), 'utf8')).result as { url: string }[])
    .filter(({ url }) => url.startsWith('file:'))
    .map(({ url }) => fileURLToPath(url));

it('starts the server from few files', async () => {
  const dataDir = join(directory, 'data');
  const coverage = join(directory, 'coverage');
  const lock = await DataDirLock.acquire(dataDir, () => undefined);
  // It ends when it finds the directory in use: everything is imported by then, and nothing has
  // been started.
  const { status } = await runCli(['serve'], { KINORA_DATA_DIR: dataDir, NODE_V8_COVERAGE: coverage });
  await lock.release();
  expect(status).toBe(75);

  const files = loadedFiles(coverage);
  expect(files.filter((path) => path.includes('/dist/bundle/')).length).toBeGreaterThan(2);
  expect(files.filter((path) => /node_modules\/(typebox|kysely|fastify|pino|pg|jose)\//.test(path))).toEqual([]);
  expect(files.length).toBeLessThan(60);
});

it('starts a media process from few files', async () => {
  const { sandbox, child } = await chooseSandbox({
    ...{ levels: ['none'], readDirs: [], writeDir: directory, memoryBytes: 2 ** 30 },
    ...{ logger: quietLogger, clock: systemClock },
  });
  await child.kill();
  const { file, args } = sandbox.command;
  const coverage = join(directory, 'coverage-media');
  const media = spawn(file, args, {
    env: { ...process.env, NODE_V8_COVERAGE: coverage },
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
  });
  const channel = media.stdio[3] as Duplex;
  expect(String((await once(channel, 'data'))[0])).toBe('{"type":"ready"}\n');
  channel.end();
  expect(await once(media, 'exit')).toEqual([0, null]);
  const own = loadedFiles(coverage).filter((path) => !path.includes('/node_modules/'));
  const unbundled = own
    .filter((path) => !path.includes('/dist/bundle/'))
    .map((path) => path.replace(/^.*\/dist\//, ''));
  expect(unbundled.sort()).toEqual(['engine/start.js', 'lib/load-bundle.js']);
  expect(own.length).toBeGreaterThan(0);
  expect(own.length).toBeLessThan(15);
});

it('has the licenses of the packages that it contains', () => {
  const licenses = readFileSync(new URL('../../../dist/bundle/licenses.md', import.meta.url), 'utf8');
  for (const name of ['fastify', 'typebox', 'kysely', 'pino', 'pg', 'jose', 'prom-client', 'commander'])
    expect(licenses).toMatch(new RegExp(`^## ${name} `, 'm'));
});
