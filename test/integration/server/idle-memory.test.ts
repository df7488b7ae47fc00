import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { playAll } from '../../support/players/play.js';
import { unoptimizedWasm } from '../../support/processes/node-flags.js';
import type { Origin } from '../../support/servers/origin.js';
import {
  cleanUpServers,
  makeDataDir,
  type ServerProcess,
  startServer,
  until,
} from '../../support/servers/server-process.js';
import { api, createAsset, serveFiles, settled } from '../../support/wire/create-asset.js';
import { sendBytes } from '../../support/wire/uploading.js';

const LIMIT_BYTES = 300_000_000;

let server: ServerProcess;
let origin: Origin;
let path: string;
beforeAll(async () => {
  path = await fixture('copy-1080p.mp4');
  origin = await serveFiles([path]);
  server = await startServer({ dataDir: makeDataDir(), isFirstStart: true, nodeFlags: unoptimizedWasm });
});
afterAll(async () => {
  await cleanUpServers();
  await origin?.stop();
});

const read = (file: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // The process has ended.
    return '';
  }
};

const tasksOf = (pid: number): string[] => {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    // The process has ended.
    return [];
  }
};

/** Of the process and everything below it, in bytes: shared pages are counted once. */
const proportionalSetSizes = (pid: number): number[] => {
  const own = Number(/^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) * 1024;
  const children = tasksOf(pid).flatMap((task) =>
    read(`/proc/${pid}/task/${task}/children`).split(' ').filter(Boolean).map(Number),
  );
  return [own, ...children.flatMap(proportionalSetSizes)];
};

const memory = () => {
  const sizes = proportionalSetSizes(server.process.pid!);
  return { isWarm: sizes.length > 1, bytes: sizes.reduce((sum, bytes) => sum + bytes, 0) };
};

it('takes less than 300 MB at its first start, with a warm media process', async () => {
  await until('a media process is warm', () => memory().isWarm);
  await until('the start has left no more', () => memory().bytes < LIMIT_BYTES, 60_000, 400);
});

it('returns to less than 300 MB after load, with a warm media process', async () => {
  const file = readFileSync(path);
  const load = async () => {
    const { id } = await createAsset(server, { inputs: [{ url: `${origin.url}/0` }], playback_policies: ['public'] });
    const upload = await api(server, 'POST', '/video/v1/uploads', { cors_origin: '*', new_asset_settings: {} });
    expect((await sendBytes((await upload.json()).data.url, file)).status).toBe(200);
    const { playback_ids: [playbackId] = [] } = await settled(server, id);
    await playAll(server.url, playbackId!.id);
    for (let n = 0; n < 50; n++) {
      const response = await api(server, 'GET', n % 2 ? '/video/v1/assets?limit=100' : '/system/v1/events?limit=100');
      expect((await response.text()).length).toBeGreaterThan(0);
    }
  };
  let loadedBytes = 0;
  const watch = setInterval(() => {
    loadedBytes = Math.max(loadedBytes, memory().bytes);
  }, 1000);
  await Promise.all([load(), load()]).finally(() => clearInterval(watch));
  loadedBytes = Math.max(loadedBytes, memory().bytes);
  // Used media processes are replaced after 30 s, and V8 gives its memory back when little happened
  // for a while.
  await until(
    `less than ${LIMIT_BYTES} bytes are taken, after ${loadedBytes}`,
    async () => {
      // To add up the pages of all processes costs more than what an idle server does.
      await delay(2000);
      const { isWarm, bytes } = memory();
      return isWarm && bytes < LIMIT_BYTES;
    },
    300_000,
  );
  expect(loadedBytes).toBeGreaterThan(LIMIT_BYTES);
  expect(await server.stop()).toBe(0);
});
