import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { median, percent, ratio, spread, table } from './support/figures.mjs';
import { startKinora } from './support/kinora.mjs';
import { scaleTo, x264 } from './support/ladder.mjs';
import { movie } from './support/media.mjs';
import { startOrigin } from './support/origin.mjs';
import { readMedia, readMultivariant } from './support/playlist.mjs';
import { cpuSecondsOf } from './support/processes.mjs';
import { ffmpeg } from './support/programs.mjs';

export const title = 'MP4 files of an asset, compared with ffmpeg on the source; and the effect on a viewer';
export const needs = ['ffmpeg'];

const REPETITIONS = 2;
const SECONDS = 60;
const POLL_MS = 50;
/** Positions that a viewer requests, 4 s each, far enough apart that none is read ahead. */
const PLACES = [20, 40, 60, 80, 100, 120];

const h264 = (size, kilobits) => ['-vf', scaleTo(size), '-c:v', 'libx264', ...x264(kilobits)];
const files = [
  { resolution: '720p', label: '720p, a rung of the ladder', args: h264({ width: 1280, height: 720 }, 1800) },
  { resolution: '540p', label: '540p, between two rungs', args: h264({ width: 960, height: 540 }, 1180) },
  { resolution: 'highest', quality: 'plus', label: 'highest, copied (plus)', args: ['-c:v', 'copy'] },
  { resolution: 'audio-only', label: 'audio only', args: ['-vn'], extension: 'm4a' },
];

const addFile = async (server, asset, resolution) => {
  const path = `/assets/${asset.id}`;
  const { id } = await server.api('POST', `${path}/static-renditions`, { resolution });
  const find = async () => (await server.api('GET', path)).static_renditions.files.find((file) => file.id === id);
  const done = async () => {
    let file = await find();
    for (; file.status === 'preparing'; file = await find()) await delay(POLL_MS);
    if (file.status !== 'ready') throw new Error(JSON.stringify(file));
    return file;
  };
  const remove = () => server.api('DELETE', `${path}/static-renditions/${id}`);
  return { done, remove };
};

/** Every repetition uses a new asset, so that no segment is cached. */
const measureFiles = async (server, origin, out) => {
  const rows = [['file', 'Kinora, s', 'ffmpeg, s', 'Kinora / ffmpeg', 'CPU s', 'CPU s of ffmpeg', 'again / first']];
  for (const { resolution, quality = 'basic', label, args, extension = 'mp4' } of files) {
    const [ours, theirs, again, ourCpu, theirCpu] = [[], [], [], [], []];
    for (let i = 0; i < REPETITIONS; i++) {
      const asset = await server.createAsset(origin.url, { video_quality: quality });
      await server.idle();
      const make = async () => {
        const startedMs = performance.now();
        const file = await addFile(server, asset, resolution);
        await file.done();
        await file.remove();
        return (performance.now() - startedMs) / 1000;
      };
      const cpuSeconds = cpuSecondsOf(server.pid);
      ours.push(await make());
      ourCpu.push(cpuSecondsOf(server.pid) - cpuSeconds);
      again.push(await make());
      const audio = ['-c:a', 'copy', '-movflags', '+faststart'];
      const reference = await ffmpeg('-i', await movie(SECONDS), ...args, ...audio, out(extension)).ended;
      theirs.push(reference.ms / 1000);
      theirCpu.push(reference.cpuSeconds);
      await server.api('DELETE', `/assets/${asset.id}`);
    }
    const cpu = [median(ourCpu).toFixed(2), median(theirCpu).toFixed(2)];
    rows.push([label, spread(ours), spread(theirs), ratio(ours, theirs), ...cpu, ratio(again, ours)]);
  }
  console.log(
    `Files of ${SECONDS} s of 1080p30; "again": all segments are in the cache. ${REPETITIONS} repetitions, alternating\n`,
  );
  table(rows);
};

const measureViewer = async (server) => {
  const origin = await startOrigin(await movie(600));
  const waits = async (asset) => {
    const { videos } = await readMultivariant(server, asset.playbackId);
    const { init, segments } = await readMedia(
      server,
      videos.find(({ height }) => height === 480),
    );
    await server.get(init);
    const measured = [];
    for (const place of PLACES) {
      const startedMs = performance.now();
      await server.get(segments[place].path);
      measured.push(performance.now() - startedMs);
    }
    return measured;
  };
  const alone = await server.createAsset(origin.url);
  await server.idle();
  const before = await waits(alone);
  const beside = await server.createAsset(origin.url);
  const other = await server.createAsset(origin.url);
  origin.stop();
  await server.idle();
  const file = await addFile(server, other, '1080p');
  await delay(2000);
  const during = await waits(beside);
  await file.remove();
  const more = percent(median(during) / median(before) - 1);
  console.log(
    `\nA cold segment of 480p for a viewer: ${spread(before)} ms alone, ${spread(during)} ms while a file is produced: ${more} more`,
  );
};

export const run = async () => {
  const directory = await mkdtemp(join(tmpdir(), 'kinora-files-'));
  const server = await startKinora();
  const origin = await startOrigin(await movie(SECONDS));
  try {
    await measureFiles(server, origin, (extension) => join(directory, `out.${extension}`));
    await measureViewer(server);
  } finally {
    origin.stop();
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  }
};
