import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { acquireDataDirLock } from '#kinora/db/data-dir-lock.js';
import { runCli } from '../../support/processes/run-cli.js';

const directory = mkdtempSync(join(tmpdir(), 'kinora-bundle-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** The files of scripts that a process has compiled: Node.js writes them down for measures of coverage. */
const loadedFiles = (coverage: string): string[] =>
  readdirSync(coverage)
    .flatMap((name) => JSON.parse(readFileSync(join(coverage, name), 'utf8')).result as { url: string }[])
    .filter(({ url }) => url.startsWith('file:'))
    .map(({ url }) => fileURLToPath(url));

it('starts the server from few files', async () => {
  const dataDir = join(directory, 'data');
  const coverage = join(directory, 'coverage');
  const lock = await acquireDataDirLock(dataDir, () => undefined);
  // It ends when it finds the directory in use: everything is imported by then, and nothing has been started.
  const { status } = await runCli(['serve'], { KINORA_DATA_DIR: dataDir, NODE_V8_COVERAGE: coverage });
  await lock.release();
  expect(status).toBe(75);

  const files = loadedFiles(coverage);
  expect(files.filter((path) => path.includes('/dist/bundle/')).length).toBeGreaterThan(2);
  expect(files.filter((path) => /node_modules\/(typebox|kysely|fastify|pino|pg|jose)\//.test(path))).toEqual([]);
  expect(files.length).toBeLessThan(60);
});

it('has the licenses of the packages that it contains', () => {
  const licenses = readFileSync(new URL('../../../dist/bundle/licenses.md', import.meta.url), 'utf8');
  for (const name of ['fastify', 'typebox', 'kysely', 'pino', 'pg', 'jose', 'prom-client', 'commander'])
    expect(licenses).toMatch(new RegExp(`^## ${name} `, 'm'));
});
