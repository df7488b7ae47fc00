import { fork } from 'node:child_process';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { ratio, spread, table } from './support/figures.mjs';
import { startKinora } from './support/kinora.mjs';
import { load } from './support/load.mjs';
import { movie } from './support/media.mjs';
import { startOrigin } from './support/origin.mjs';

export const title =
  'requests of the control API on 16 connections, compared with a bare Node.js server that returns the same bytes';
export const needs = ['ffmpeg'];

const REPETITIONS = 5;
const SECONDS = 3;

const self = fileURLToPath(import.meta.url);

/** Runs in its own process, like Kinora. */
const startBare = (body) =>
  new Promise((resolve) => {
    const child = fork(self, ['bare', body]);
    child.once('message', (port) => resolve({ url: `http://127.0.0.1:${port}`, stop: () => child.kill() }));
  });

if (process.argv[2] === 'bare') {
  const body = Buffer.from(process.argv[3]);
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length });
    response.end(body);
  });
  server.listen(0, '127.0.0.1', () => process.send(server.address().port));
}

export const run = async () => {
  const origin = await startOrigin(await movie(10));
  const server = await startKinora();
  const bares = [];
  try {
    const assets = [];
    for (let i = 0; i < 25; i++) assets.push(await server.createAsset(origin.url));
    const [{ id, playbackId }] = assets;
    const requests = [
      ['GET one asset', `/video/v1/assets/${id}`, true],
      ['GET a page of 25 assets', '/video/v1/assets?limit=25', true],
      ['GET the multivariant playlist', `/${playbackId}.m3u8`, false],
    ];
    const rows = [['', 'Kinora, requests/s', 'bare Node.js, requests/s', 'Kinora / bare']];
    for (const [label, path, withToken] of requests) {
      const headers = withToken ? { authorization: server.authorization } : {};
      const bare = await startBare(await (await fetch(server.url + path, { headers })).text());
      bares.push(bare);
      const access = withToken && { authorization: server.authorization };
      const [ours, theirs] = [[], []];
      for (let i = -1; i < REPETITIONS; i++) {
        const a = await load(server.url, [path], { seconds: SECONDS, ...access });
        const b = await load(bare.url, [path], { seconds: SECONDS, ...access });
        if (i < 0) continue;
        ours.push(a.requestsPerSecond);
        theirs.push(b.requestsPerSecond);
      }
      rows.push([label, spread(ours), spread(theirs), ratio(ours, theirs)]);
    }
    console.log(
      `Median (min to max) of ${REPETITIONS} x ${SECONDS} s, alternating; the load generator shares the cores\n`,
    );
    table(rows);
  } finally {
    for (const bare of bares) bare.stop();
    await server.stop();
    origin.stop();
  }
};
