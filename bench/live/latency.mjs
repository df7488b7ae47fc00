// From the encoder to the screen of hls.js, beside the HLS that FFmpeg writes with its own muxer
// from the same encoder.
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import { median, ratio, spread, table } from '../support/figures.mjs';
import { freePort, startEncoder } from '../support/live-encoder.mjs';
import { COUNTER, countedMovie } from '../support/media.mjs';
import { start } from '../support/programs.mjs';
import { createLiveStream, isPlayable, startLiveKinora, untilMs } from './live-streams.mjs';

const REPETITIONS = 3;
const WATCH_MS = 20_000;
/** Players adjust their latency at first. */
const SETTLE_MS = 8000;

const page = (playlist) => `<!doctype html><title>hls.js</title><video muted></video><script src="/hls.js"></script>
<script>
const video = document.querySelector('video');
const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
const { bits, squarePixels } = ${JSON.stringify(COUNTER)};
globalThis.shown = [];
globalThis.stalls = 0;
const numberOf = () => {
  context.drawImage(video, 0, 0, bits * squarePixels, squarePixels, 0, 0, bits * 4, 4);
  const { data } = context.getImageData(0, 2, bits * 4, 1);
  let number = 0;
  for (let bit = 0; bit < bits; bit++) if (data[(bit * 4 + 2) * 4] > 128) number += 2 ** bit;
  return number;
};
const look = (_, { presentationTime }) => {
  shown.push({ frame: numberOf(), atMs: performance.timeOrigin + presentationTime });
  video.requestVideoFrameCallback(look);
};
video.requestVideoFrameCallback(look);
let started = false;
video.addEventListener('playing', () => { started = true; });
video.addEventListener('waiting', () => { if (started) stalls += 1; });
const hls = new Hls({ maxLiveSyncPlaybackRate: 1.2 });
hls.on(Hls.Events.MANIFEST_PARSED, () => video.play());
hls.loadSource(${JSON.stringify(playlist)});
hls.attachMedia(video);
</script>`;

export const startSite = async (files) => {
  const script = await readFile(createRequire(import.meta.url).resolve('hls.js/dist/hls.min.js'));
  const site = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url, 'http://localhost');
    if (pathname === '/hls.js') return response.setHeader('content-type', 'text/javascript').end(script);
    if (pathname === '/') return response.setHeader('content-type', 'text/html').end(page(searchParams.get('play')));
    const body = await readFile(join(files, basename(pathname))).catch(() => undefined);
    response.writeHead(body ? 200 : 404, { 'access-control-allow-origin': '*', 'cache-control': 'no-store' }).end(body);
  });
  await new Promise((resolve) => site.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${site.address().port}`, stop: () => site.close() };
};

/** Latencies in seconds of the frames that the page shows, and its stalls. */
export const watch = async (browser, site, playlist, encoder) => {
  const tab = await browser.newPage();
  try {
    await tab.goto(`${site.url}/?play=${encodeURIComponent(playlist)}`);
    await tab.waitForFunction(() => globalThis.shown.length > 0);
    await delay(SETTLE_MS);
    await tab.evaluate(() => {
      globalThis.shown = [];
      globalThis.stalls = 0;
    });
    await delay(WATCH_MS);
    const { shown, stalls } = await tab.evaluate(() => ({ shown: globalThis.shown, stalls: globalThis.stalls }));
    const seconds = shown.flatMap(({ frame, atMs }) => {
      const sentMs = encoder.sentAt(frame);
      return sentMs === undefined ? [] : [(atMs - sentMs) / 1000];
    });
    if (seconds.length < WATCH_MS / 100) throw new Error(`only ${seconds.length} of ${shown.length} frames were shown`);
    return { seconds: median(seconds), stalls };
  } finally {
    await tab.close();
  }
};

export const startBrowser = () => {
  const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--autoplay-policy=no-user-gesture-required'];
  return chromium.launch({ executablePath: '/usr/bin/chromium', args });
};

const watchKinora = async (browser, site, server, path) => {
  const stream = await createLiveStream(server);
  const encoder = startEncoder(path, stream.url);
  try {
    await untilMs(() => isPlayable(server, stream.playbackId));
    return await watch(browser, site, `${server.url}/${stream.playbackId}.m3u8`, encoder);
  } finally {
    await encoder.stop();
    await server.api('DELETE', `/live-streams/${stream.id}`);
  }
};

const watchFfmpeg = async (browser, site, files, path) => {
  const url = `rtmp://127.0.0.1:${await freePort()}/app/key`;
  const list = join(files, 'live.m3u8');
  const hls = ['-f', 'hls', '-hls_time', '2', '-hls_list_size', '6', '-hls_flags', 'delete_segments'];
  const args = ['-nostdin', '-v', 'error', '-listen', '1', '-i', url, '-c', 'copy', ...hls, list];
  const muxer = start('ffmpeg', args);
  // It listens after its start; an encoder that comes before is refused.
  await delay(1000);
  const encoder = startEncoder(path, url);
  try {
    // hls.js starts three segments before the end.
    await untilMs(async () => existsSync(list) && (String(await readFile(list)).match(/#EXTINF/g) ?? []).length >= 3);
    return await watch(browser, site, `${site.url}/live.m3u8`, encoder);
  } finally {
    await encoder.stop();
    muxer.stop('SIGKILL');
    await muxer.ended;
    await rm(list, { force: true });
  }
};

export const measureLatency = async () => {
  const path = await countedMovie();
  const files = await mkdtemp(join(tmpdir(), 'kinora-bench-hls-'));
  const site = await startSite(files);
  const server = await startLiveKinora({ options: { LIVE_RUNGS: '0' } });
  const browser = await startBrowser();
  const results = { kinora: [], ffmpeg: [] };
  try {
    for (let i = 0; i < REPETITIONS; i++) {
      results.kinora.push(await watchKinora(browser, site, server, path));
      results.ffmpeg.push(await watchFfmpeg(browser, site, files, path));
    }
  } finally {
    await browser.close();
    await server.stop();
    site.stop();
    await rm(files, { recursive: true, force: true });
  }
  const of = (name, field) => results[name].map((result) => result[field]);
  console.log(
    `Frames of 720p30 with a key frame every 2 s, from the encoder's socket to the screen of hls.js. Median (min to max) of ${REPETITIONS}, in turn\n`,
  );
  table([
    ['', 'Kinora, `low`', "FFmpeg's hls muxer", 'Kinora / FFmpeg'],
    [
      'ingest to screen, s',
      spread(of('kinora', 'seconds')),
      spread(of('ffmpeg', 'seconds')),
      ratio(of('kinora', 'seconds'), of('ffmpeg', 'seconds')),
    ],
    ['stalls', of('kinora', 'stalls').join(', '), of('ffmpeg', 'stalls').join(', '), ''],
  ]);
};
