import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ratio, spread, table } from './support/figures.mjs';
import { startKinora } from './support/kinora.mjs';
import { megabytes, movie } from './support/media.mjs';
import { startNginx } from './support/nginx.mjs';
import { residentMegabytesOf } from './support/processes.mjs';
import { start } from './support/programs.mjs';

export const title =
  'a direct upload of 2 GB, compared with nginx (dav PUT) and cp; memory of eight concurrent uploads';
export const needs = ['ffmpeg', 'nginx', 'curl'];

const REPETITIONS = 3;
const SOURCE_SECONDS = 3600;
const PARALLEL = 8;
const PARALLEL_SECONDS = 600;
const EVERY_MS = 20;

/** `curl` sends the file the same way to every server. */
const put = (path, url) => start('curl', ['-sS', '--fail', '-o', '/dev/null', '-T', path, url]).ended;

const flush = (path) => start('sync', [path]).ended;

/** Uploads a file and measures the seconds until the response. */
const upload = async (server, path) => {
  const { id, url } = await server.api('POST', '/uploads', { new_asset_settings: { playback_policies: ['public'] } });
  const { ms } = await put(path, url);
  return { id, seconds: ms / 1000 };
};

/** Waits for the end of the ingest, which is not measured here, and frees the disk space. */
const remove = async (server, uploadId) => {
  const { asset_id: id } = await server.api('GET', `/uploads/${uploadId}`);
  while ((await server.api('GET', `/assets/${id}`)).status === 'preparing') await delay(100);
  await server.api('DELETE', `/assets/${id}`);
  await server.idle();
};

const throughput = async () => {
  const path = await movie(SOURCE_SECONDS);
  const server = await startKinora();
  const root = await mkdtemp(join(server.dataDir, 'reference-'));
  let nginx;
  const seconds = { kinora: [], nginx: [], nginxFlushed: [], copy: [], copyFlushed: [] };
  try {
    nginx = await startNginx(root, 'client_max_body_size 0; client_body_buffer_size 1m; dav_methods PUT;');
    const target = join(root, 'www', 'put.mp4');
    const copied = join(root, 'copy.mp4');
    for (let i = -1; i < REPETITIONS; i++) {
      const { id, seconds: kinora } = await upload(server, path);
      await remove(server, id);
      const sent = (await put(path, `${nginx.url}/put.mp4`)).ms / 1000;
      const sentFlushed = sent + (await flush(target)).ms / 1000;
      await rm(target);
      const copy = (await start('cp', [path, copied]).ended).ms / 1000;
      const copyFlushed = copy + (await flush(copied)).ms / 1000;
      await rm(copied);
      if (i < 0) continue;
      const measured = { kinora, nginx: sent, nginxFlushed: sentFlushed, copy, copyFlushed };
      for (const [name, value] of Object.entries(measured)) seconds[name].push(value);
    }
  } finally {
    await nginx?.stop();
    await server.stop();
  }
  const size = await megabytes(path);
  console.log(
    `File of ${size.toFixed(0)} MB on this machine, sent by curl; median (min to max) of ${REPETITIONS}, alternating. Kinora responds when the file is on disk and the asset is created. "flushed" also waits for the disk.\n`,
  );
  const speeds = (name) => seconds[name].map((value) => size / value);
  const row = (label, name) => [label, spread(speeds(name)), ratio(speeds('kinora'), speeds(name))];
  table([
    ['', 'MB/s', 'Kinora / this'],
    ['Kinora', spread(speeds('kinora')), ''],
    row('nginx, dav PUT', 'nginx'),
    row('nginx, dav PUT, flushed', 'nginxFlushed'),
    row('cp', 'copy'),
    row('cp, flushed', 'copyFlushed'),
  ]);
};

const memory = async () => {
  const path = await movie(PARALLEL_SECONDS);
  const server = await startKinora();
  let peak = 0;
  try {
    await server.idle();
    const idle = residentMegabytesOf(server.pid);
    let running = true;
    const watch = async () => {
      for (; running; await delay(EVERY_MS)) peak = Math.max(peak, residentMegabytesOf(server.pid));
    };
    const watching = watch();
    const uploads = Array.from({ length: PARALLEL }, () => upload(server, path));
    await Promise.all(uploads).finally(() => {
      running = false;
    });
    await watching;
    console.log(
      `\n${PARALLEL} uploads of ${(await megabytes(path)).toFixed(0)} MB at the same time: the server process uses at most ${peak.toFixed(0)} MB (resident, every ${EVERY_MS} ms), ${(peak - idle).toFixed(0)} MB above idle.`,
    );
  } finally {
    await server.stop();
  }
};

export const run = async () => {
  await throughput();
  await memory();
};
