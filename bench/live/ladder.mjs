// What a live stream costs while each of its resolutions is watched, beside FFmpeg, which decodes
// it once and encodes the same resolutions.
import { setTimeout as delay } from 'node:timers/promises';
import { table } from '../support/figures.mjs';
import { startEncoder } from '../support/live-encoder.mjs';
import { movie } from '../support/media.mjs';
import { readMultivariant } from '../support/playlist.mjs';
import { cpuSecondsOf } from '../support/processes.mjs';
import { start } from '../support/programs.mjs';
import { createLiveStream, follow, isPlayable, startLiveKinora, untilMs } from './live-streams.mjs';

const WARM_UP_MS = 8000;
const SECONDS = 20;

const coresOf = async (pid) => {
  const [beforeMs, before] = [performance.now(), cpuSecondsOf(pid)];
  await delay(SECONDS * 1000);
  return ((cpuSecondsOf(pid) - before) * 1000) / (performance.now() - beforeMs);
};

const watchAll = async (path) => {
  const server = await startLiveKinora({ options: { LIVE_RUNGS: '3' } });
  const stream = await createLiveStream(server);
  const encoder = startEncoder(path, stream.url);
  const leave = new AbortController();
  try {
    await untilMs(() => isPlayable(server, stream.playbackId));
    await delay(WARM_UP_MS);
    const copied = await coresOf(server.pid);
    const { videos, audio } = await readMultivariant(server, stream.playbackId);
    const viewers = [...videos, audio].map((rendition) => follow(server, rendition.path, leave.signal));
    const failed = Promise.all(viewers).then(() => new Promise(() => {}));
    const measured = delay(WARM_UP_MS).then(() => coresOf(server.pid));
    const watched = await Promise.race([measured, failed]);
    return { copied, watched, encoded: videos.slice(1).map(({ width, height }) => ({ width, height })) };
  } finally {
    leave.abort();
    await encoder.stop();
    await server.stop();
  }
};

const encodeWithFfmpeg = async (path, sizes) => {
  const outputs = sizes.flatMap(({ width, height }) => [
    ...['-map', '0:v', '-vf', `scale=${width}:${height}`, '-c:v', 'libx264', '-preset', 'veryfast', '-bf', '0'],
    ...['-g', '60', '-b:v', `${Math.round((3000 * height * height) / 720 ** 2)}k`, '-f', 'null', '-'],
  ]);
  const process = start('ffmpeg', ['-nostdin', '-v', 'error', '-re', '-stream_loop', '-1', '-i', path, ...outputs]);
  process.ended.catch(() => undefined);
  await delay(WARM_UP_MS);
  const cores = await coresOf(process.pid);
  process.stop('SIGKILL');
  return cores;
};

export const measureLadder = async () => {
  const path = await movie(60);
  const { copied, watched, encoded } = await watchAll(path);
  const reference = await encodeWithFfmpeg(path, encoded);
  const names = encoded.map(({ height }) => `${height}p`).join(', ');
  console.log(`\n1080p30, copied, and ${names} encoded while they are watched, over ${SECONDS} s\n`);
  table([
    ['', 'cores', `/ FFmpeg: one decode, the same resolutions (${reference.toFixed(2)} cores)`],
    ['nobody watches', copied.toFixed(2), (copied / reference).toFixed(2)],
    ['every resolution is watched', watched.toFixed(2), (watched / reference).toFixed(2)],
  ]);
};
