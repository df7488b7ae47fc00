import { readdirSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { table } from './support/figures.mjs';
import { startKinora } from './support/kinora.mjs';
import { movie } from './support/media.mjs';
import { startOrigin } from './support/origin.mjs';
import { residentMegabytesOf } from './support/processes.mjs';
import { halves } from './support/soak-halves.mjs';
import { createSoakWork } from './support/soak-work.mjs';

export const title = 'mixed requests for half an hour: resources in the second half compared with the first';
export const needs = ['ffmpeg'];

/** Use `SOAK_MINUTES=60 npm run bench -- soak` for an hour. */
const MINUTES = Number(process.env.SOAK_MINUTES ?? 30);
/**
 * Warm-up before the measurement: caches fill, code is compiled and the database log reaches its
 * full size.
 */
const WARM_UP_MINUTES = MINUTES / 5;
const SAMPLES = 20;

/** Total size of the files below `path`. Files may disappear while they are counted. */
const diskBytes = async (path) => {
  const found = await stat(path).catch(() => undefined);
  if (!found?.isDirectory()) return found?.size ?? 0;
  const names = await readdir(path).catch(() => []);
  let bytes = 0;
  for (const name of names) bytes += await diskBytes(join(path, name));
  return bytes;
};

/**
 * The log of the embedded database: files of 16 MiB, which are reused. It may exceed its limit of
 * 64 MiB by one file.
 */
const LOG = join('db', 'pg_wal');
const LOG_LIMIT_MB = (80 * 2 ** 20) / 1e6;

const measure = async (server) => {
  const megabytesBelow = async (name) => (await diskBytes(join(server.dataDir, name))) / 1e6;
  const live = await server.liveBytes();
  const [all, db, log, blobs, cache] = await Promise.all(['', 'db', LOG, 'blobs', 'cache'].map(megabytesBelow));
  const figures = {
    'live MB, main thread': live.main / 1e6,
    'live MB, other threads': live.threads / 1e6,
    'resident MB': residentMegabytesOf(server.pid),
    handles: readdirSync(`/proc/${server.pid}/fd`).length,
    'disk MB without the database log': all - log,
  };
  return { figures, parts: { database: db - log, blobs, cache }, log };
};

const minutes = (count) => delay(count * 60_000);

const soak = async (server, work) => {
  const running = work.start();
  await Promise.race([Promise.all([minutes(WARM_UP_MINUTES), work.filled]), running.failed]);
  work.startCounting();
  const samples = [];
  for (let i = 0; i < SAMPLES; i++) {
    await Promise.race([minutes(MINUTES / SAMPLES), running.failed]);
    samples.push(await Promise.race([work.betweenChanges(() => measure(server)), running.failed]));
  }
  await running.stop();
  return samples;
};

const shown = ({ name, first, second }) => [name, first.toFixed(1), second.toFixed(1), (second / first).toFixed(3)];

export const run = async () => {
  if (!(MINUTES > 0)) throw new Error('SOAK_MINUTES is a number of minutes');
  const path = await movie(10);
  const origin = await startOrigin(path);
  const server = await startKinora({ measured: true });
  try {
    const work = createSoakWork(server, origin.url, await readFile(path));
    const samples = await soak(server, work);
    const judged = halves(samples.map(({ figures }) => figures));
    const parts = halves(samples.map((sample) => sample.parts));
    const log = Math.max(...samples.map((sample) => sample.log));
    const done = Object.entries(work.counts).map(([what, count]) => `${count} ${what}`);
    console.log(`${MINUTES} minutes after ${WARM_UP_MINUTES.toFixed(1)} or more of warm-up: ${done.join(', ')}\n`);
    table([
      ['median', 'first half', 'second half', 'second / first', ''],
      ...judged.map((row) => [...shown(row), row.grew ? 'GREW' : '']),
      ...parts.map((row) => [...shown({ ...row, name: `of it, ${row.name}` }), '']),
    ]);
    console.log(`\nDatabase log: at most ${log.toFixed(1)} MB, its limit is ${LOG_LIMIT_MB.toFixed(1)} MB`);
    for (const [what, count] of work.unexpected) console.log(`UNEXPECTED: ${what}, ${count} times`);
    if (work.unexpected.size > 0 || log > LOG_LIMIT_MB || judged.some(({ grew }) => grew)) process.exitCode = 1;
  } finally {
    await server.stop();
    origin.stop();
  }
};
