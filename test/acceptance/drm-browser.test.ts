/** DRM in a real browser: Encrypted Media Extensions with ClearKey, through hls.js and Shaka Player. */
import { createReadStream } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Booted, boot } from '../support/boot.js';
import { startChromium, type Watched, watch } from '../support/chromium.js';
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
    window.levels = () => hls.levels.map(({ height }) => height);
  };
  // Shaka takes ClearKey keys from its configuration.
  const fetchKeys = async (url, licenseUrl) => {
    const playlist = await (await fetch(url)).text();
    const bytesOf = (hex) => String.fromCharCode(...hex.match(/../g).map((digits) => parseInt(digits, 16)));
    const toBase64Url = (hex) => btoa(bytesOf(hex)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
    const toHex = (text) =>
      [...atob(text.replaceAll('-', '+').replaceAll('_', '/'))].map((c) => c.charCodeAt(0).toString(16).padStart(2, '0')).join('');
    const kids = [...new Set([...playlist.matchAll(/KEYID=0x([0-9a-f]{32})/g)].map((match) => toBase64Url(match[1])))];
    const answer = await fetch(licenseUrl, { method: 'POST', body: JSON.stringify({ kids, type: 'temporary' }) });
    if (!answer.ok) throw new Error('license ' + answer.status);
    return Object.fromEntries((await answer.json()).keys.map(({ kid, k }) => [toHex(kid), toHex(k)]));
  };
  window.playShaka = async (url, licenseUrl) => {
    try {
      const clearKeys = await fetchKeys(url, licenseUrl);
      const player = new shaka.Player();
      player.addEventListener('error', ({ detail }) => problems.push('shaka ' + detail.code));
      player.configure({ abr: { enabled: false }, drm: { clearKeys } });
      await player.attach(video);
      await player.load(url);
      window.choose = (index) => player.selectVariantTrack(player.getVariantTracks()[index], true);
      window.levels = () => player.getVariantTracks().map(({ height }) => height);
      await video.play();
    } catch (error) {
      problems.push(error.code ? 'shaka ' + error.code : error.message);
    }
  };
</script>`;

declare global {
  interface Window {
    problems: string[];
    playHls(url: string, licenseUrl: string): void;
    playShaka(url: string, licenseUrl: string): void;
    choose(index: number): void;
    levels(): number[];
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
let levelsId: string | undefined;

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

/** Counts halts before a gap in the media. Pages can't read the frames of encrypted media, so that their counters tell nothing. */
const countStalls = (): Promise<void> =>
  page.evaluate(() => {
    const video = document.querySelector('video')!;
    window.stalls = 0;
    video.addEventListener('waiting', () => {
      const { buffered, currentTime } = video;
      const starts = Array.from({ length: buffered.length }, (_, at) => buffered.start(at));
      if (!video.seeking && !video.ended && starts.some((start) => start > currentTime)) window.stalls++;
    });
  });

const expectNoProblems = async (): Promise<void> => {
  expect(await page.evaluate(() => window.problems)).toEqual([]);
  expect(watched.problems).toEqual([]);
};

test.each(players)('%s plays an encrypted asset from start to end', { timeout: 240_000 }, async (player) => {
  await play(player, longId);
  await countStalls();
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
  await expectNoProblems();
  expect(watched.requested.filter((url) => url.includes('/license/clearkey/')).length).toBeGreaterThan(0);
});

test.each(players)('%s seeks in an encrypted asset', { timeout: 240_000 }, async (player) => {
  await play(player, longId);
  await page.waitForFunction(() => document.querySelector('video')!.currentTime > 0);
  await page.evaluate(() => document.querySelector('video')!.pause());
  for (const seconds of [17.21, 3.05, 11.99, 0.01, 19.4, 8.02]) {
    const shown = await page.evaluate(
      (time) =>
        new Promise<number>((resolve) => {
          const video = document.querySelector('video')!;
          video.requestVideoFrameCallback((_, { mediaTime }) => resolve(mediaTime));
          video.currentTime = time;
        }),
      seconds,
    );
    expect(Math.abs(shown - seconds)).toBeLessThanOrEqual(1 / RATE + 0.001);
  }
  await expectNoProblems();
});

test.each(players)('%s goes through all levels of an encrypted asset', { timeout: 240_000 }, async (player) => {
  levelsId ??= await createId('levels.mp4');
  const start = async (): Promise<number[]> => {
    await play(player, levelsId!);
    await page.waitForFunction(() => document.querySelector('video')!.currentTime > 0);
    return page.evaluate(() => window.levels());
  };
  const levels = await start();
  expect(levels.length).toBeGreaterThan(3);
  for (const [index, height] of levels.entries()) {
    await start();
    await page.evaluate((at) => window.choose(at), index);
    // The segment that is playing may stay as it is, the next one is of the chosen level.
    await page.waitForFunction((expected) => {
      const { videoHeight, currentTime } = document.querySelector('video')!;
      return videoHeight === expected && currentTime > 4.5;
    }, height);
    const corrupted = await page.evaluate(
      () => document.querySelector('video')!.getVideoPlaybackQuality().corruptedVideoFrames,
    );
    expect([height, corrupted]).toEqual([height, 0]);
  }
  await expectNoProblems();
});

test('without a license nothing is shown', { timeout: 240_000 }, async () => {
  const otherId = await createId('long.mp4');
  const refused = [
    ['', 400],
    [playbackToken(key, longId, 'v'), 403],
    [playbackToken(key, otherId, 'd'), 403],
    [playbackToken(key, longId, 'd', { exp: 1 }), 403],
  ] as const;
  for (const [token, status] of refused) {
    await play('playHls', longId, token);
    await page.waitForFunction(() => window.problems.length > 0);
    expect(watched.problems.join('\n')).toContain(`${status} ${server.url}/license/clearkey/${longId}`);
    watched.problems.length = 0;
    expect(await page.evaluate(() => document.querySelector('video')!.getVideoPlaybackQuality().totalVideoFrames)).toBe(
      0,
    );
  }
});
