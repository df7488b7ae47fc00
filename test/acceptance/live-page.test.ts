/**
 * The page of a live stream: from before it starts, through interruptions, to its end and the next
 * broadcast.
 */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import Mux from '@mux/mux-node';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fixture } from '../support/media/fixtures.js';
import { useBrowser } from '../support/players/browser.js';
import { readFrames, type Watched } from '../support/players/chromium.js';
import { wrongFrames } from '../support/players/video-page.js';
import { type Publisher, startPublisher } from '../support/processes/publisher.js';
import { freePort } from '../support/servers/free-port.js';
import { cleanUpServers, makeDataDir, type ServerProcess, startServer } from '../support/servers/server-process.js';

/** Of the fixture, which is sent again and again. */
const LOOP_SECONDS = 20;
const RATE = 30;

const require = createRequire(import.meta.url);
const dataDir = makeDataDir();
const publishers: Publisher[] = [];
let port: number;
let rtmpPort: number;
let file: string;
let server: ServerProcess;
let mux: Mux;
let stream: Mux.Video.LiveStream;
let liveId: string;
let page: Page;
let watched: Watched;

const start = async (): Promise<void> => {
  const options = { PORT: String(port), RTMP_PORT: String(rtmpPort), LIVE_RUNGS: '0' };
  server = await startServer({ dataDir, options });
  mux = new Mux({ baseURL: server.url, tokenId: server.token.id, tokenSecret: server.token.secret, maxRetries: 3 });
};

beforeAll(async () => {
  file = await fixture('long.mp4');
  [port, rtmpPort] = [await freePort(), await freePort()];
  await start();
  stream = await mux.video.liveStreams.create({
    playback_policies: ['public'],
    new_asset_settings: { playback_policies: ['public'] },
    meta: { title: 'Harbor live' },
    latency_mode: 'low',
    reconnect_window: 600,
  });
  liveId = stream.playback_ids![0]!.id;
});
afterAll(async () => {
  for (const { process } of publishers) process.kill('SIGKILL');
  await cleanUpServers();
});
const browser = useBrowser();

const publish = (): Publisher => {
  const args = ['-re', '-stream_loop', '-1', '-i', file, '-c', 'copy'];
  const publisher = startPublisher(`rtmp://127.0.0.1:${rtmpPort}/app/${stream.stream_key}`, args);
  publishers.push(publisher);
  return publisher;
};
const leave = async ({ process, output }: Publisher): Promise<void> => {
  process.kill('SIGKILL');
  await output;
};
const recordingId = async (): Promise<string> => {
  const { active_asset_id: assetId } = await mux.video.liveStreams.retrieve(stream.id);
  return (await mux.video.assets.retrieve(assetId!)).playback_ids![0]!.id;
};
/** Interruptions are problems of the page that it deals with. */
const open = async (id: string, query = ''): Promise<void> => {
  ({ page, watched } = await browser.open({ expected: /./, viewport: { width: 1280, height: 720 } }));
  await page.goto(`${server.url}/${id}?muted${query}`);
};
const untilPlaying = (of: Page = page): Promise<unknown> =>
  of.waitForFunction(() => {
    const video = document.querySelector('video');
    return video && !video.paused && video.readyState > 2 && video.currentTime > 0.5;
  });
const atEdge = (of: Page = page) => of.getByRole('button', { name: 'Live', exact: true });
const behind = () => page.getByRole('button', { name: /^Back to live, \d+:\d\d behind$/ });
const violations = async (): Promise<string[]> => {
  await page.evaluate(await readFile(require.resolve('axe-core/axe.min.js'), 'utf8'));
  const found = (await page.evaluate('axe.run()')) as { violations: { id: string; nodes: { html: string }[] }[] };
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
};
/** Keeps the controls in sight. */
const expectAccessible = async (): Promise<void> => {
  for (const size of [
    { width: 1280, height: 720 },
    { width: 390, height: 700 },
  ]) {
    await page.setViewportSize(size);
    await page.mouse.move(100 + Math.random() * 50, 100);
    expect(await violations()).toEqual([]);
    // Nothing of the badge lies over the button beside it.
    const isInside = (button: HTMLElement): boolean => button.scrollWidth <= button.clientWidth;
    expect(await page.locator('#live').evaluate(isInside as (button: Element) => boolean)).toBe(true);
  }
};

test('a page that is opened too early plays as soon as the live stream starts', async () => {
  await open(liveId);
  await page.getByText('The live stream is not on air. It plays here as soon as it starts.').waitFor();
  expect(await violations()).toEqual([]);
  publish();
  await untilPlaying();
  await atEdge().waitFor();
  await expectAccessible();
  expect(await page.getByRole('slider', { name: 'Seek' }).isVisible()).toBe(false);
  // Low latency: parts, and playlists that wait for them.
  expect(watched.requested.filter((url) => /\/270p\/\d+\.\d+\.m4s$/.test(url)).length).toBeGreaterThan(0);
  expect(watched.requested.some((url) => /_HLS_part=\d/.test(url))).toBe(true);

  await page.keyboard.press('k');
  await behind().waitFor();
  expect(await page.locator('#time').textContent()).toMatch(/^−\d+:\d\d$/);
  await expectAccessible();
  await behind().focus();
  await page.keyboard.press('Enter');
  await atEdge().waitFor();
  await untilPlaying();
  // A card of the page shows what is on air.
  const image = await page.locator('meta[property="og:image"]').getAttribute('content');
  expect((await fetch(image!)).headers.get('content-type')).toBe('image/jpeg');
});

test('the recording can be rewound to its start while it is live', async () => {
  await open(await recordingId());
  await untilPlaying();
  await atEdge().waitFor();
  const slider = page.getByRole('slider', { name: 'Seek' });
  await expect.poll(async () => Number(await slider.getAttribute('max'))).toBeGreaterThan(15);
  await readFrames(page);
  await page.keyboard.press('0');
  await behind().waitFor();
  await page.waitForFunction(() => window.playedFrames.some(({ mediaSeconds }) => mediaSeconds < 5));
  await page.waitForFunction(() => window.playedFrames.length >= 20);
  const frames = await page.evaluate(() => window.playedFrames);
  expect(
    wrongFrames(
      frames.filter(({ mediaSeconds }) => mediaSeconds < LOOP_SECONDS - 1),
      RATE,
    ),
  ).toEqual([]);
  expect(await slider.getAttribute('aria-valuetext')).toMatch(/behind live$/);
  expect(Number(await slider.getAttribute('min'))).toBeLessThan(0.2);
  await expectAccessible();
  // hls.js would undo another speed, because it catches up with the edge by itself.
  for (const key of ['>', '>']) await page.keyboard.press(key);
  const from = await page.evaluate(() => document.querySelector('video')!.currentTime);
  await page.waitForFunction((time) => document.querySelector('video')!.currentTime > time + 1, from);
  expect(await page.evaluate(() => document.querySelector('video')!.playbackRate)).toBe(1.5);
  await behind().click();
  await atEdge().waitFor();
  await page.waitForFunction(() => document.querySelector('video')!.playbackRate < 1.5);
});

test('a page goes on by itself after its encoder and the server were away', async () => {
  await open(liveId);
  await untilPlaying();
  await page.evaluate(() => Object.assign(window, { isSamePage: true }));
  const notice = page.getByText('The live stream is interrupted. It goes on by itself.');
  const currentTime = () => page.evaluate(() => document.querySelector('video')!.currentTime);

  await readFrames(page);
  await leave(publishers.at(-1)!);
  // The slate has no counters.
  const showsSlate = (isSlate: boolean) =>
    page.waitForFunction((wanted) => {
      const last = window.playedFrames.slice(-30);
      return last.length === 30 && last.every(({ counter }) => counter < 0 === wanted);
    }, isSlate);
  await showsSlate(true);
  expect(await notice.isVisible()).toBe(false);
  publish();
  await showsSlate(false);
  await atEdge().waitFor();

  await server.kill();
  await publishers.at(-1)!.output;
  await notice.waitFor();
  const beforeRestart = await currentTime();
  await start();
  publish();
  await page.waitForFunction((time) => document.querySelector('video')!.currentTime > time + 1, beforeRestart);
  await atEdge().waitFor();
  expect(await page.evaluate(() => 'isSamePage' in window)).toBe(true);
});

test('a page shows the end, and plays the next broadcast', async () => {
  const asset = await recordingId();
  await open(asset);
  const recording = page;
  await untilPlaying();
  await atEdge().waitFor();
  await open(liveId);
  await untilPlaying();
  await mux.video.liveStreams.complete(stream.id);
  await page.getByText('The live stream has ended. If it starts again, it plays here.').waitFor();
  expect(await violations()).toEqual([]);

  await recording.getByText('The live stream has ended.').waitFor();
  await atEdge(recording).waitFor({ state: 'hidden' });
  await expect.poll(() => recording.locator('#time').textContent()).toMatch(/^(\d+:\d\d) \/ \1$/);
  await recording.keyboard.press('0');
  await recording.keyboard.press('k');
  await recording.waitForFunction(() => {
    const { currentTime, paused } = document.querySelector('video')!;
    return !paused && currentTime > 0.2 && currentTime < 15;
  });

  await leave(publishers.at(-1)!);
  publish();
  await untilPlaying();
  await atEdge().waitFor();
  expect(await recordingId()).not.toBe(asset);
});

test('its viewers are counted, with how far behind they are', async () => {
  await open(liveId);
  await untilPlaying();
  await page.goto('about:blank');
  const ended = async () => (await mux.data.videoViews.list({ filters: [`live_stream_id:${stream.id}`] })).data;
  await expect.poll(ended).not.toEqual([]);
  const [listed] = await ended();
  const { data: view } = await mux.data.videoViews.retrieve(listed!.id);
  expect(view).toMatchObject({
    ...{ live_stream_id: stream.id, playback_id: liveId, video_title: 'Harbor live', video_stream_type: 'live' },
    playback_failure: false,
  });
  expect(view.live_stream_latency).toBeGreaterThan(0);
  expect(view.live_stream_latency).toBeLessThan(60_000);
});
