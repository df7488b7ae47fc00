/** DRM in a real browser: Encrypted Media Extensions with ClearKey, through hls.js and Shaka Player. */
import { createReadStream } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Booted, boot } from '../support/boot.js';
import { readPictures, startChromium, type Watched, watch } from '../support/chromium.js';
import { createDrmAsset, createDrmConfiguration, createSigningKey, playbackToken } from '../support/drm.js';
import { fixture } from '../support/fixtures.js';
import { type Origin, startOrigin } from '../support/origin.js';
import type { OwnedKey } from '../support/playback-token.js';
import { serveNamed } from '../support/text-origin.js';

const RATE = 30;
const SCRIPTS: Readonly<Record<string, string>> = {
  '/shaka.js': 'shaka-player/dist/shaka-player.compiled.js',
  '/hls.js': 'hls.js/dist/hls.min.js',
};
/** `levels` of the player that runs, and how to choose one. */
const PAGE = `<!doctype html><link rel="icon" href="data:,"><video muted></video>
<script src="/shaka.js"></script><script src="/hls.js"></script><script>
  const video = document.querySelector('video');
  window.problems = [];
  window.playHls = (url, licenseUrl) => {
    const hls = new Hls({ emeEnabled: true, drmSystems: { 'org.w3.clearkey': { licenseUrl } } });
    hls.on(Hls.Events.ERROR, (_, { fatal, details }) => fatal && problems.push(details));
    hls.on(Hls.Events.MANIFEST_PARSED, () => video.play());
    hls.loadSource(url);
    hls.attachMedia(video);
    window.choose = (index) => { hls.nextLevel = index; };
    window.levels = () => hls.levels.length;
  };
  window.playShaka = async (url, licenseUrl) => {
    const player = new shaka.Player();
    player.addEventListener('error', ({ detail }) => problems.push('shaka ' + detail.code));
    player.configure({ abr: { enabled: false }, drm: { servers: { 'org.w3.clearkey': licenseUrl } } });
    await player.attach(video);
    await player.load(url).catch(({ code }) => problems.push('shaka ' + code));
    await video.play().catch(() => undefined);
    window.choose = (index) => player.selectVariantTrack(player.getVariantTracks()[index], true);
    window.levels = () => player.getVariantTracks().length;
  };
</script>`;

declare global {
  interface Window {
    problems: string[];
    playHls(url: string, licenseUrl: string): void;
    playShaka(url: string, licenseUrl: string): void;
    choose(index: number): void;
    levels(): number;
  }
}

let server: Booted;
let files: Origin;
let site: Origin;
let browser: Browser;
let page: Page;
let watched: Watched;
let configurationId: string;
let key: OwnedKey;
let longId: string;

beforeAll(async () => {
  files = await serveNamed({
    'long.mp4': { path: await fixture('long.mp4') },
    'levels.mp4': { path: await fixture('copy-1080p.mp4') },
  });
  site = await startOrigin((request, response) => {
    const script = SCRIPTS[request.url ?? ''];
    if (script === undefined) return void response.setHeader('content-type', 'text/html').end(PAGE);
    const path = createRequire(import.meta.url).resolve(script);
    createReadStream(path).pipe(response.setHeader('content-type', 'text/javascript'));
  });
  server = await boot();
  browser = await startChromium();
  configurationId = await createDrmConfiguration(server, ['--key-source', 'local']);
  key = await createSigningKey(server);
  longId = await createId('long.mp4');
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
  await site?.stop();
  await files?.stop();
});
beforeEach(async () => {
  page = await (await browser.newContext()).newPage();
  watched = watch(page);
});
afterEach(() => page.context().close());

const createId = async (file: string): Promise<string> =>
  (await createDrmAsset(server, configurationId, { inputs: [{ url: `${files.url}/${file}` }] })).drmId;

const players = ['playHls', 'playShaka'] as const;

const play = async (player: (typeof players)[number], id: string, licenseToken?: string): Promise<void> => {
  const url = `${server.url}/${id}.m3u8?token=${playbackToken(key, id, 'v')}`;
  const token = licenseToken ?? playbackToken(key, id, 'd');
  const licenseUrl = `${server.url}/license/clearkey/${id}${token === '' ? '' : `?token=${token}`}`;
  await page.goto(site.url);
  await page.evaluate(([name, ...args]) => window[name](...args), [player, url, licenseUrl] as const);
};

const expectRightPictures = async (atLeast: number): Promise<void> => {
  const pictures = await page.evaluate(() => window.pictures);
  const wrong = pictures.filter(({ mediaSeconds, counter }) => Math.abs(counter - mediaSeconds * RATE) > 0.5);
  expect(wrong).toEqual([]);
  expect(pictures.length).toBeGreaterThan(atLeast);
};

test.each(players)('%s plays an encrypted asset from start to end', { timeout: 240_000 }, async (player) => {
  await play(player, longId);
  await readPictures(page);
  await page.waitForFunction(() => document.querySelector('video')!.ended, undefined, { timeout: 120_000 });
  const end = await page.evaluate(() => {
    const video = document.querySelector('video')!;
    const { totalVideoFrames, corruptedVideoFrames } = video.getVideoPlaybackQuality();
    const { duration, mediaKeys } = video;
    return { duration, totalVideoFrames, corruptedVideoFrames, hasKeys: mediaKeys !== null, stalls: window.stalls };
  });
  expect(end.duration).toBeCloseTo(20, 1);
  expect(end.totalVideoFrames).toBeGreaterThanOrEqual(20 * RATE);
  expect([end.corruptedVideoFrames, end.stalls, end.hasKeys]).toEqual([0, 0, true]);
  await expectRightPictures(20);
  expect(await page.evaluate(() => window.problems)).toEqual([]);
  expect(watched.problems).toEqual([]);
  expect(watched.requested.filter((url) => url.includes('/license/clearkey/')).length).toBeGreaterThan(0);
});
