import { link, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { table } from './support/figures.mjs';
import { comparison, measureInTurn } from './support/in-turn.mjs';
import { startKinora } from './support/kinora.mjs';
import { load } from './support/load.mjs';
import { movie } from './support/media.mjs';
import { startNginx } from './support/nginx.mjs';
import { startOrigin } from './support/origin.mjs';
import { readMedia, readMultivariant } from './support/playlist.mjs';
import { ownCpuSecondsOf } from './support/processes.mjs';

export const title = 'cached segments on 16 connections, compared with nginx (sendfile, one worker) and the same files';
export const needs = ['ffmpeg', 'nginx'];

const REPETITIONS = 5;
const SECONDS = 4;

/** The cache file for a path. Its name ends with a digest of the content. */
const cachedFiles = async (dataDir, assetId) => {
  const directory = join(dataDir, 'cache', assetId.slice(0, 2), assetId);
  const names = await readdir(directory, { recursive: true });
  return new Map(names.filter((name) => name.includes('~')).map((name) => [name.split('~')[0], join(directory, name)]));
};

export const run = async () => {
  console.log('requested repeatedly, so that Kinora keeps them in memory:\n');
  await compare({});
  console.log('\nfrom the disk cache (KINORA_HOT_SIZE=0):\n');
  await compare({ HOT_SIZE: '0' });
};

const compare = async (options) => {
  const origin = await startOrigin(await movie(60));
  const kinora = await startKinora({ options });
  const root = await mkdtemp(join(kinora.dataDir, 'nginx-'));
  let nginx;
  try {
    // With plus quality the top rung is copied: 2.3 MB per segment, a typical size for 1080p.
    const asset = await kinora.createAsset(origin.url, { video_quality: 'plus' });
    const { videos } = await readMultivariant(kinora, asset.playbackId);
    const { segments } = await readMedia(kinora, videos[0]);
    for (const { path } of segments) await kinora.get(path);
    const files = await cachedFiles(kinora.dataDir, asset.id);
    const paths = segments.map(({ path }) => path);
    for (const path of paths) {
      // /<playback id>/<plan>/<rendition>/<file>
      const target = join(root, 'www', path);
      await mkdir(dirname(target), { recursive: true });
      await link(files.get(path.split('/').slice(2).join('/')), target);
    }
    nginx = await startNginx(root);
    await kinora.idle();
    const measure = async (server) => {
      const cpu = ownCpuSecondsOf(server.pid);
      const result = await load(server.url, paths, { seconds: SECONDS });
      return { ...result, cpuPerGigabyte: ((ownCpuSecondsOf(server.pid) - cpu) * 1e9) / result.bytes };
    };
    const results = await measureInTurn(REPETITIONS, measure, kinora, nginx);
    const sizes = await Promise.all(paths.map(async (path) => (await stat(join(root, 'www', path))).size));
    const size = sizes.reduce((sum, each) => sum + each, 0) / sizes.length;
    console.log(
      `${paths.length} segments of ${(size / 1e6).toFixed(1)} MB on average; median (min to max) of ${REPETITIONS} x ${SECONDS} s, alternating; the load generator shares the cores\n`,
    );
    table([
      ['', 'Kinora', 'nginx', 'Kinora / nginx'],
      comparison(results, 'GB/s', 'gigabytesPerSecond'),
      comparison(results, 'segments/s', 'requestsPerSecond'),
      comparison(results, 'CPU seconds per GB', 'cpuPerGigabyte'),
    ]);
  } finally {
    await nginx?.stop();
    await kinora.stop();
    origin.stop();
    await rm(root, { recursive: true, force: true });
  }
};
