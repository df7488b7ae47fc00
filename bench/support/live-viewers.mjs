// Many viewers of a live stream, in a process of their own: each holds a request for a playlist
// that does not exist yet.
import { fork } from 'node:child_process';
import { Agent, get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { nextPlace } from '../live/live-streams.mjs';

const GAP_MS = 3000;
const RETRY_MS = 200;

const self = fileURLToPath(import.meta.url);

/**
 * `count` viewers of the media playlist `url`, or of several in turn, for `seconds`.
 * @returns {Promise<{responses: number, failed: number, failures: Record<string, number>,
 * spreadsMs: number[], longestMs: number, gaps: number}>} `failures`: how often for which reason, a
 * code or a status and its body; `spreadsMs`: from the first viewer who has a part to the last one,
 * for each part; `longestMs`: the longest time between two playlists of a viewer; `gaps`: how often
 * it was more than 3 s, at most
 */
export const watchWith = (url, { count, seconds }) =>
  new Promise((resolve, reject) => {
    const child = fork(self, ['watch']);
    child.once('message', resolve);
    child.once('error', reject);
    child.once('exit', (code) => code !== 0 && reject(new Error(`the viewers ended with ${code}`)));
    child.send({ url, count, seconds });
  });

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

const read = (url) =>
  new Promise((resolve, reject) => {
    get(url, { agent }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.on('error', reject);
      response.on('end', () =>
        response.statusCode === 200 ? resolve(text) : reject(new Error(`${response.statusCode} ${text}`)),
      );
    }).on('error', reject);
  });

const watch = async ({ url, count, seconds }) => {
  const arrivals = new Map();
  let responses = 0;
  let failed = 0;
  const failures = {};
  const untilMs = performance.now() + seconds * 1000;
  const urls = [url].flat();
  const firsts = await Promise.all(urls.map(async (each) => nextPlace(await read(each))));
  let longestMs = 0;
  let gaps = 0;
  const view = async (_, at) => {
    const own = urls[at % urls.length];
    let place = firsts[at % urls.length];
    let lastMs = performance.now();
    let ownGaps = 0;
    while (performance.now() < untilMs) {
      try {
        const text = await read(`${own}?_HLS_msn=${place.segment}&_HLS_part=${place.part}`);
        const nowMs = performance.now();
        responses += 1;
        longestMs = Math.max(longestMs, nowMs - lastMs);
        if (nowMs - lastMs > GAP_MS) gaps = Math.max(gaps, ++ownGaps);
        lastMs = nowMs;
        place = nextPlace(text);
        const name = `${place.segment}.${place.part}`;
        const seen = arrivals.get(name) ?? { firstMs: nowMs, viewers: 0 };
        arrivals.set(name, { ...seen, lastMs: nowMs, viewers: seen.viewers + 1 });
      } catch (error) {
        failed += 1;
        const reason = error.code ?? error.message;
        failures[reason] = (failures[reason] ?? 0) + 1;
        await delay(RETRY_MS);
      }
    }
  };
  await Promise.all(Array.from({ length: count }, view));
  const whole = [...arrivals.values()].filter(({ viewers }) => viewers > count / 2);
  return {
    responses,
    failed,
    failures,
    spreadsMs: whole.map(({ firstMs, lastMs }) => lastMs - firstMs),
    longestMs,
    gaps,
  };
};

if (process.argv[2] === 'watch') {
  process.once('message', async (job) => {
    process.send(await watch(job));
    process.disconnect();
    agent.destroy();
  });
}
