import { readFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';
import { table } from './support/figures.mjs';
import { comparison, measureInTurn } from './support/in-turn.mjs';
import { startKinora } from './support/kinora.mjs';
import { movie } from './support/media.mjs';
import { startOrigin } from './support/origin.mjs';

export const title = 'from opening the player page to its first frame, compared with a page that has only hls.js';
export const needs = ['ffmpeg', 'chromium'];

const REPETITIONS = 15;

/** The least that plays: the script of hls.js and two lines. */
const leastPage = (
  playlist,
) => `<!doctype html><title>hls.js</title><video muted></video><script src="/hls.js"></script>
<script>
const video = document.querySelector('video');
const hls = new Hls();
hls.on(Hls.Events.MANIFEST_PARSED, () => video.play());
hls.loadSource(${JSON.stringify(playlist)});
hls.attachMedia(video);
</script>`;

/**
 * One origin for both pages, which passes everything else to Kinora: a second origin would cost a
 * connection and CORS.
 */
const startSite = async (server, playlist) => {
  const script = await readFile(createRequire(import.meta.url).resolve('hls.js/dist/hls.min.js'));
  const own = { '/least': ['text/html', leastPage(playlist)], '/hls.js': ['text/javascript', script] };
  const site = createServer((incoming, response) => {
    const override = own[incoming.url];
    if (override) return response.setHeader('content-type', override[0]).end(override[1]);
    const { url, method, headers } = incoming;
    const outgoing = request(new URL(url, server.url), { method, headers }, (from) => {
      response.writeHead(from.statusCode, from.headers);
      from.pipe(response);
    });
    outgoing.on('error', () => response.destroy());
    incoming.pipe(outgoing);
  });
  await new Promise((resolve) => site.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${site.address().port}`, stop: () => site.close() };
};

/** Runs in the page before its own scripts. */
const noteFirstFrame = () => {
  const look = () => {
    const video = document.querySelector('video');
    if (!video) requestAnimationFrame(look);
    else
      video.requestVideoFrameCallback(() => {
        globalThis.firstFrameMs = performance.now();
      });
  };
  look();
};

export const run = async () => {
  const origin = await startOrigin(await movie(60));
  const server = await startKinora();
  const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--autoplay-policy=no-user-gesture-required'];
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args });
  const asset = await server.createAsset(origin.url);
  const path = `/${asset.playbackId}`;
  const site = await startSite(server, `${path}.m3u8`);
  try {
    await server.idle();
    /** In a context of its own: nothing is in the browser's cache. */
    const open = async (url) => {
      const context = await browser.newContext();
      const tab = await context.newPage();
      await tab.addInitScript(noteFirstFrame);
      await tab.goto(url);
      await tab.waitForFunction(() => globalThis.firstFrameMs !== undefined);
      const seconds = (await tab.evaluate(() => globalThis.firstFrameMs)) / 1000;
      await context.close();
      return { seconds };
    };
    const page = `${site.url}${path}?muted`;
    const results = await measureInTurn(REPETITIONS, open, page, `${site.url}/least`);
    const reports = await measureInTurn(REPETITIONS, open, page, `${page}&tracking=false`);
    console.log(
      `Median (min to max) of ${REPETITIONS}, alternating, each with an empty browser cache; segments are cached\n`,
    );
    table([
      ['first frame', 'player page, s', 'hls.js alone, s', 'player page / hls.js alone'],
      comparison(results, 'from the start of the navigation', 'seconds'),
    ]);
    console.log('');
    table([
      ['first frame', 'with reports of views, s', 'without, s', 'with / without'],
      comparison(reports, 'from the start of the navigation', 'seconds'),
    ]);
  } finally {
    await browser.close();
    site.stop();
    await server.stop();
    await origin.stop();
  }
};
