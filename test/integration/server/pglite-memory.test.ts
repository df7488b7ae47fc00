import { rm } from 'node:fs/promises';
import { afterEach, expect, it } from 'vitest';
import { runScript } from '../../support/processes/child.js';
import { makeTestDataDir } from '../../support/servers/database.js';

const dirs: string[] = [];
afterEach(async () => {
  for (const dir of dirs.splice(0)) await rm(dir, { recursive: true, force: true });
});

/**
 * Loaded in every thread: the database engine's thread answers with what it holds after a
 * collection.
 */
const PROBE = `import { BroadcastChannel, isMainThread } from 'node:worker_threads';
  if (!isMainThread) {
    const channel = new BroadcastChannel('live-bytes').unref();
    channel.onmessage = ({ data }) => {
      if (data !== 'measure') return;
      gc();
      const { heapUsed, arrayBuffers } = process.memoryUsage();
      channel.postMessage(heapUsed + arrayBuffers);
    };
  }`;

const QUERIES = 5_000;
const RESPONSE_BYTES = 75_000;

it('keeps nothing of the answers it gave', async () => {
  const dataDir = await makeTestDataDir();
  dirs.push(dataDir);
  const child = runScript(
    `const { openDatabase } = await kinora('db/open-database.js');
    const { sql } = await import(${JSON.stringify(import.meta.resolve('kysely'))});
    const logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => logger };
    const database = await openDatabase({ dataDir: process.argv[1], logger });
    const channel = new BroadcastChannel('live-bytes');
    const liveBytes = () => new Promise((resolve) => {
      channel.onmessage = ({ data }) => resolve(data);
      channel.postMessage('measure');
    });
    const ask = async (count) => {
      for (let n = 0; n < count; n++) {
        const { rows } = await sql\`select repeat('x', ${RESPONSE_BYTES}) as text\`.execute(database.queryable);
        if (rows[0].text.length !== ${RESPONSE_BYTES}) throw new Error('a short answer');
      }
    };
    await ask(100);
    const before = await liveBytes();
    await ask(${QUERIES} - 1500);
    for (let round = 0; round < 4; round++) {
      console.log(await liveBytes() - before);
      await ask(500);
    }
    channel.close();
    await database.close();`,
    [dataDir],
    ['--expose-gc', '--import', `data:text/javascript,${encodeURIComponent(PROBE)}`],
  );
  await child.closed;
  expect(child.lines).toHaveLength(4);
  // A single measurement is up to 9 MB above the next, so this can't tell less than 3 kB an answer;
  // `bench/database-memory.mjs` allows 10 MB for 100,000 answers.
  expect(Math.min(...child.lines.map(Number))).toBeLessThan(10_000_000);
});

it('keeps a bounded number of files open after it has read every table', async () => {
  const dataDir = await makeTestDataDir();
  dirs.push(dataDir);
  const child = runScript(
    `import { readdirSync, readlinkSync } from 'node:fs';
    const { openDatabase } = await kinora('db/open-database.js');
    const { sql } = await import(${JSON.stringify(import.meta.resolve('kysely'))});
    const logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => logger };
    const database = await openDatabase({ dataDir: process.argv[1], logger });
    await sql\`vacuum (analyze)\`.execute(database.queryable);
    const targets = readdirSync('/proc/self/fd').map((fd) => {
      try {
        return readlinkSync('/proc/self/fd/' + fd);
      } catch {
        return '';
      }
    });
    console.log(targets.filter((target) => target.startsWith(process.argv[1])).length);
    await database.close();`,
    [dataDir],
  );
  await child.closed;
  expect(Number(child.lines[0])).toBeLessThanOrEqual(128);
});
