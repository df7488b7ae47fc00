import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { createLiveStream, follow, isPlayable, startLiveKinora, untilMs } from './live/live-streams.mjs';
import { table } from './support/figures.mjs';
import { startEncoder } from './support/live-encoder.mjs';
import { countedMovie } from './support/media.mjs';
import { readMultivariant } from './support/playlist.mjs';
import { residentMegabytesOf } from './support/processes.mjs';
import { halves } from './support/soak-halves.mjs';

export const title = 'two live streams with viewers for an hour: memory in the second half compared with the first';
export const needs = ['ffmpeg'];

/** Use `LIVE_SOAK_MINUTES=10 npm run bench -- live-soak` for a shorter run. */
const MINUTES = Number(process.env.LIVE_SOAK_MINUTES ?? 60);
const WARM_UP_MINUTES = MINUTES / 6;
const SAMPLES = 20;

const minutes = (count) => delay(count * 60_000);

const goLive = async (server, path, signal) => {
  const stream = await createLiveStream(server);
  const encoder = startEncoder(path, stream.url);
  await untilMs(() => isPlayable(server, stream.playbackId));
  const { videos, audio } = await readMultivariant(server, stream.playbackId);
  // The copied video, the smallest rendition, and the audio.
  const watched = new Set([videos[0], videos.at(-1), audio]);
  const viewers = [...watched].map(({ path: playlist }) => follow(server, playlist, signal));
  return { encoder, failed: Promise.all(viewers).then(() => new Promise(() => {})) };
};

export const run = async () => {
  if (!(MINUTES > 0)) throw new Error('LIVE_SOAK_MINUTES is a number of minutes');
  const path = await countedMovie();
  const server = await startLiveKinora({ measured: true, options: { LIVE_RUNGS: '1' } });
  const leave = new AbortController();
  const streams = [];
  try {
    for (let i = 0; i < 2; i++) streams.push(await goLive(server, path, leave.signal));
    const failed = Promise.race(streams.map((stream) => stream.failed));
    await Promise.race([minutes(WARM_UP_MINUTES), failed]);
    const samples = [];
    for (let i = 0; i < SAMPLES; i++) {
      await Promise.race([minutes(MINUTES / SAMPLES), failed]);
      const live = await server.liveBytes();
      samples.push({
        'live MB, main thread': live.main / 1e6,
        'live MB, other threads': live.threads / 1e6,
        'resident MB': residentMegabytesOf(server.pid),
        handles: readdirSync(`/proc/${server.pid}/fd`).length,
      });
    }
    const rows = halves(samples);
    console.log(`${MINUTES} minutes after ${WARM_UP_MINUTES.toFixed(1)} of warm-up\n`);
    table([
      ['median', 'first half', 'second half', 'second / first', ''],
      ...rows.map(({ name, first, second, grew }) => [
        name,
        first.toFixed(1),
        second.toFixed(1),
        (second / first).toFixed(3),
        grew ? 'GREW' : '',
      ]),
    ]);
    if (rows.some(({ grew }) => grew)) process.exitCode = 1;
  } finally {
    leave.abort();
    for (const { encoder } of streams) await encoder.stop();
    await server.stop();
  }
};
