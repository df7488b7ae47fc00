import { median, randomSource, ratio, spread, table } from './support/figures.mjs';
import { startKinora } from './support/kinora.mjs';
import { movie } from './support/media.mjs';
import { startOrigin } from './support/origin.mjs';
import { readMedia, readMultivariant } from './support/playlist.mjs';
import { startStore } from './support/s3.mjs';

export const title = 'a cold segment whose source is in S3, compared with one whose source is on the disk';
export const needs = ['ffmpeg'];

const LATENCY_MS = 50;
const REPETITIONS = 7;

export const run = async () => {
  const origin = await startOrigin(await movie(600));
  const store = await startStore({ latencyMs: LATENCY_MS });
  const servers = [];
  try {
    const sides = [];
    for (const options of [store.options, {}]) {
      const server = await startKinora({ options });
      servers.push(server);
      const { playbackId } = await server.createAsset(origin.url);
      // What the import has left in the copies is gone, as it is after a while.
      await server.kill();
      const again = await startKinora({ options, again: server });
      servers[servers.length - 1] = again;
      const { videos } = await readMultivariant(again, playbackId);
      const rungs = [];
      for (const rung of videos) rungs.push({ height: rung.height, ...(await readMedia(again, rung)) });
      for (const { init } of rungs) await again.get(init);
      sides.push({ server: again, rungs });
    }
    console.log(
      `Milliseconds, median (min to max) of ${REPETITIONS} random positions, alternating; each answer of S3 takes ${LATENCY_MS} ms more\n`,
    );
    const random = randomSource(1);
    const rows = [['rung', 'S3', 'disk', 'S3 / disk', 'GETs', 'MB fetched']];
    const places = sides[0].rungs[0].segments.map((_, number) => number).slice(4, -1);
    const timed = async ({ server, rungs }, rung, number) => {
      await server.idle();
      const startedMs = performance.now();
      await server.get(rungs[rung].segments[number].path);
      return performance.now() - startedMs;
    };
    for (const [rung, { height }] of sides[0].rungs.entries()) {
      const [far, near, gets, bytes] = [[], [], [], []];
      for (let i = -1; i < REPETITIONS; i++) {
        const number = places[random(places.length)];
        // Read-ahead has made or fetched the neighbors.
        for (let at = number - 2; at <= number + 2; at++) if (places.includes(at)) places.splice(places.indexOf(at), 1);
        const before = { gets: store.gets, sentBytes: store.sentBytes };
        const farMs = await timed(sides[0], rung, number);
        const fetched = { gets: store.gets - before.gets, bytes: store.sentBytes - before.sentBytes };
        const nearMs = await timed(sides[1], rung, number);
        if (i < 0) continue;
        far.push(farMs);
        near.push(nearMs);
        gets.push(fetched.gets);
        bytes.push(fetched.bytes / 1e6);
      }
      rows.push([`${height}p`, spread(far), spread(near), ratio(far, near), median(gets), spread(bytes)]);
    }
    table(rows);
  } finally {
    for (const server of servers) await server.stop();
    store.stop();
    origin.stop();
  }
};
