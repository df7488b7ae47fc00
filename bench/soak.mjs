import { readdirSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { median, table } from './support/figures.mjs';
import { startKinora } from './support/kinora.mjs';
import { movie } from './support/media.mjs';
import { startOrigin } from './support/origin.mjs';
import { readMedia, readMultivariant } from './support/playlist.mjs';
import { residentMegabytesOf } from './support/processes.mjs';

export const title = 'mixed requests for half an hour: what the server holds in the second half beside the first';
export const needs = ['ffmpeg'];

/** `SOAK_MINUTES=60 npm run bench -- soak` for an hour. */
const MINUTES = Number(process.env.SOAK_MINUTES ?? 30);
const SAMPLES = 20;
/** Until there are as many assets nothing is deleted, and nothing is compared. */
const ASSETS = 10;
const PAUSE_MS = 20;

/** Of the files below `path`; what is being removed may be gone. */
const diskBytes = async (path) => {
  const found = await stat(path).catch(() => undefined);
  if (!found?.isDirectory()) return found?.size ?? 0;
  const names = await readdir(path).catch(() => []);
  let bytes = 0;
  for (const name of names) bytes += await diskBytes(join(path, name));
  return bytes;
};

const measure = async (server) => {
  const live = await server.liveBytes();
  return {
    'live MB, main thread': live.main / 1e6,
    'live MB, other threads': live.threads / 1e6,
    'resident MB': residentMegabytesOf(server.pid),
    handles: readdirSync(`/proc/${server.pid}/fd`).length,
    'disk MB': (await diskBytes(server.dataDir)) / 1e6,
  };
};

const createWork = (server, origin, file) => {
  const assets = [];
  const counts = { lists: 0, viewers: 0, created: 0, uploaded: 0, deleted: 0 };
  const read = async (path) => {
    const answer = await fetch(server.url + path, { headers: { authorization: server.authorization } });
    await answer.arrayBuffer();
    if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  };
  const tasks = {
    lists: async () => {
      await read('/video/v1/assets?limit=100');
      await read('/system/v1/events?limit=50');
      counts.lists += 2;
    },
    viewers: async () => {
      const asset = assets.at(-1);
      if (!asset) return;
      const { videos } = await readMultivariant(server, asset.playbackId);
      const { segments } = await readMedia(server, videos.at(-1));
      for (const { path } of segments) await server.get(path);
      counts.viewers += 1;
    },
    changes: async () => {
      assets.push(await server.createAsset(origin.url));
      counts.created += 1;
      const { id, url } = await server.api('POST', '/uploads', {
        cors_origin: '*',
        new_asset_settings: { playback_policies: ['public'] },
      });
      const put = await fetch(url, { method: 'PUT', body: file });
      await put.arrayBuffer();
      let upload;
      do {
        await delay(PAUSE_MS);
        upload = await server.api('GET', `/uploads/${id}`);
      } while (!upload.asset_id);
      let asset;
      do {
        await delay(PAUSE_MS);
        asset = await server.api('GET', `/assets/${upload.asset_id}`);
      } while (asset.status === 'preparing');
      assets.push({ ...asset, playbackId: asset.playback_ids[0].id });
      counts.uploaded += 1;
      while (assets.length > ASSETS) {
        await server.api('DELETE', `/assets/${assets.shift().id}`);
        counts.deleted += 1;
      }
    },
  };
  return { assets, counts, tasks };
};

export const run = async () => {
  const path = await movie(10);
  const origin = await startOrigin(path);
  const server = await startKinora({ measured: true });
  try {
    const { assets, counts, tasks } = createWork(server, origin, await readFile(path));
    while (assets.length < ASSETS) await tasks.changes();
    let running = true;
    const repeat = async (task) => {
      while (running) {
        // Viewers meet assets that are deleted at that moment, and a busy machine may be too slow for one of them.
        await task().catch((error) => {
          if (!/40[34]|503/.test(String(error))) throw error;
        });
        await delay(PAUSE_MS);
      }
    };
    const work = Object.values(tasks).map(repeat);
    const failed = Promise.all(work).then(() => undefined);
    // It may fail while nobody waits for it; the next wait tells.
    failed.catch(() => undefined);
    const samples = [];
    for (let i = 0; i < SAMPLES; i++) {
      await Promise.race([delay((MINUTES * 60_000) / SAMPLES), failed]);
      samples.push(await measure(server));
    }
    running = false;
    await failed;
    console.log(
      `${MINUTES} minutes: ${Object.entries(counts)
        .map((entry) => entry.reverse().join(' '))
        .join(', ')}\n`,
    );
    const half = (name, part) => median(part.map((sample) => sample[name]));
    table([
      ['median', 'first half', 'second half', 'second / first'],
      ...Object.keys(samples[0]).map((name) => {
        const first = half(name, samples.slice(0, SAMPLES / 2));
        const second = half(name, samples.slice(SAMPLES / 2));
        return [name, first.toFixed(1), second.toFixed(1), (second / first).toFixed(3)];
      }),
    ]);
  } finally {
    await server.stop();
    origin.stop();
  }
};
