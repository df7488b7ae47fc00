import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { cleanUpServers, startServer, until } from '../support/server-process.js';

let directory = '';
afterAll(async () => {
  await cleanUpServers();
  if (directory) rmSync(directory, { recursive: true, force: true });
});

/** Of the process and everything below it, in bytes: shared pages are counted once. */
const proportionalSetSizes = (pid: number): number[] => {
  const own = Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]) * 1024;
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
  return [own, ...children.flatMap(proportionalSetSizes)];
};

it('takes less than 300 MB at its first start, with a warm media process', async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-memory-'));
  const server = await startServer({ dataDir: join(directory, 'data') });
  await until('a media process is warm', () => proportionalSetSizes(server.process.pid!).length > 1);
  const sizes = proportionalSetSizes(server.process.pid!);
  expect(sizes.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThan(300_000_000);
  expect(await server.stop()).toBe(0);
});
