// What recording and serving copied live streams costs, beside FFmpeg, which receives one and
// writes it as HLS.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { table } from '../support/figures.mjs';
import { freePort } from '../support/live-encoder.mjs';
import { movie } from '../support/media.mjs';
import { ownCpuSecondsOf, residentMegabytesOf } from '../support/processes.mjs';
import { start } from '../support/programs.mjs';
import { createLiveStream, isActive, startLiveKinora, untilMs } from './live-streams.mjs';

const COUNTS = [1, 8, 30];
const SECONDS = 20;

/** FFmpeg that sends the file again and again. */
const publish = (path, url) => {
  const input = ['-re', '-stream_loop', '-1', '-i', path];
  const encoder = start('ffmpeg', ['-nostdin', '-v', 'error', ...input, '-c', 'copy', '-f', 'flv', url]);
  return async () => {
    encoder.stop('SIGKILL');
    await encoder.ended;
  };
};

/** Share of a core that the process takes, and its memory at the end. */
const usage = async (pid) => {
  const [beforeMs, before] = [performance.now(), ownCpuSecondsOf(pid)];
  await delay(SECONDS * 1000);
  const seconds = (performance.now() - beforeMs) / 1000;
  return { cores: (ownCpuSecondsOf(pid) - before) / seconds, megabytes: residentMegabytesOf(pid) };
};

const receive = async (path, count) => {
  const server = await startLiveKinora({ options: { LIVE_RUNGS: '0' } });
  const stops = [];
  try {
    const streams = [];
    for (let i = 0; i < count; i++) streams.push(await createLiveStream(server));
    for (const { url } of streams) stops.push(publish(path, url));
    for (const stream of streams) await untilMs(() => isActive(server, stream), 200);
    return await usage(server.pid);
  } finally {
    await Promise.all(stops.map((stop) => stop()));
    await server.stop();
  }
};

const receiveWithFfmpeg = async (path) => {
  const files = await mkdtemp(join(tmpdir(), 'kinora-bench-hls-'));
  const url = `rtmp://127.0.0.1:${await freePort()}/app/key`;
  const args = ['-v', 'error', '-listen', '1', '-i', url, '-c', 'copy', '-f', 'hls', '-hls_time', '2'];
  const muxer = start('ffmpeg', ['-nostdin', ...args, join(files, 'live.m3u8')]);
  await delay(1000);
  const stop = publish(path, url);
  try {
    await delay(5000);
    return await usage(muxer.pid);
  } finally {
    await stop();
    muxer.stop('SIGKILL');
    await muxer.ended;
    await rm(files, { recursive: true, force: true });
  }
};

export const measureStreams = async () => {
  const path = await movie(60);
  const reference = await receiveWithFfmpeg(path);
  const rows = [];
  for (const count of COUNTS) {
    const { cores, megabytes } = await receive(path, count);
    const each = cores / count;
    const percent = (value) => (100 * value).toFixed(1);
    rows.push([count, percent(cores), percent(each), (each / reference.cores).toFixed(2), megabytes.toFixed(0)]);
  }
  console.log(`\n1080p30 of 4.6 Mb/s, copied, mode \`low\`, nobody watches, over ${SECONDS} s\n`);
  table([
    ['streams', 'CPU, % of a core', 'for each', "for each / FFmpeg's RTMP to HLS", 'memory of the server, MB'],
    ...rows,
    ['FFmpeg, 1', (100 * reference.cores).toFixed(1), '', '1', reference.megabytes.toFixed(0)],
  ]);
};
