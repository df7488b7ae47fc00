import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { fixture } from '../support/media/fixtures.js';
import { useBrowser } from '../support/players/browser.js';
import { playAt, readFrames, type Watched } from '../support/players/chromium.js';
import { untilShown, wrongFrames } from '../support/players/video-page.js';
import { type Booted, boot } from '../support/servers/boot.js';
import { type Origin, serveFile, startOrigin } from '../support/servers/origin.js';
import { createAsset, serveFiles, settled } from '../support/wire/create-asset.js';

const RATE = 30;

let server: Booted;
let files: Origin;
let page: Page;
let watched: Watched;

beforeAll(async () => {
  const names = [
    'long.mp4',
    'copy-720p.mp4',
    'audio-longer.mp4',
    'vfr.mp4',
    'one-frame.mp4',
    'two-slides.mp4',
  ] as const;
  files = await serveFiles(await Promise.all(names.map((name) => fixture(name))));
  server = await boot();
});
afterAll(async () => {
  await server?.stop();
  await files?.stop();
});
const browser = useBrowser();
beforeEach(async () => {
  ({ page, watched } = await browser.open());
});

const playable = async (file: number, title: string): Promise<string> => {
  const inputs = [{ url: `${files.url}/${file}` }];
  const { id } = await createAsset(server, { inputs, playback_policies: ['public'], meta: { title } });
  const asset = await settled(server, id);
  expect(asset.errors).toBeUndefined();
  return asset.playback_ids![0]!.id;
};

const open = async (playbackId: string): Promise<void> => {
  await page.goto(`${server.url}/${playbackId}`);
  await page.waitForFunction(() => document.querySelector('video')!.currentTime > 0);
};

const state = () =>
  page.evaluate(() => {
    const video = document.querySelector('video')!;
    const quality = video.getVideoPlaybackQuality();
    return {
      time: video.currentTime,
      duration: video.duration,
      height: video.videoHeight,
      total: quality.totalVideoFrames,
      corrupted: quality.corruptedVideoFrames,
      stalls: window.stalls,
      frames: window.playedFrames,
    };
  });

test('a created asset plays from start to end on the page of its playback id', async () => {
  const playbackId = await playable(0, 'Twenty seconds');
  await open(playbackId);
  expect(await page.title()).toBe('Twenty seconds');
  await page.evaluate(() => {
    const video = document.querySelector('video')!;
    video.currentTime = 0;
    return video.play();
  });
  await readFrames(page);
  await playAt(page, 2);
  await page.waitForFunction(() => document.querySelector('video')!.ended, undefined, { timeout: 120_000 });
  const end = await state();
  expect(end.duration).toBeCloseTo(20, 1);
  expect(end.corrupted).toBe(0);
  // Every frame of the source was decoded. How many of them were displayed in time depends on the
  // machine's spare power, so dropped frames are not judged here.
  expect(end.total).toBeGreaterThanOrEqual(20 * RATE);
  expect(end.stalls).toBe(0);
  expect(wrongFrames(end.frames, RATE)).toEqual([]);
  // One a second at least was there to be judged.
  expect(end.frames.length).toBeGreaterThan(20);
  expect(watched.problems).toEqual([]);
  expect(new Set(watched.requested.map((url) => new URL(url).origin))).toEqual(new Set([new URL(server.url).origin]));
});

test('seeking lands on the exact frame, also where nothing was made before', async () => {
  const playbackId = await playable(0, 'Seek');
  await open(playbackId);
  await page.evaluate(() => document.querySelector('video')!.pause());
  await readFrames(page);
  for (const seconds of [17.21, 3.05, 11.99, 0.01, 19.4, 8.02, 4.0, 15.98, 6.5, 12.34]) {
    const shown = await page.evaluate(
      (time) =>
        new Promise<{ count: number; ready: number }>((resolve) => {
          const video = document.querySelector('video')!;
          video.addEventListener(
            'seeked',
            () => resolve({ count: window.playedFrames.length, ready: video.readyState }),
            {
              once: true,
            },
          );
          video.currentTime = time;
        }),
      seconds,
    );
    expect(shown.ready).toBeGreaterThanOrEqual(2);
    await untilShown(page, seconds, RATE);
  }
  const { frames } = await state();
  expect(wrongFrames(frames, RATE)).toEqual([]);
});

test('every level can be chosen and shows the same frames', async () => {
  const playbackId = await playable(1, 'Levels');
  await open(playbackId);
  const quality = page.locator('#quality');
  const levels = await quality.locator('option').allTextContents();
  expect(levels[0]).toBe('Auto');
  expect(levels.length).toBeGreaterThan(3);
  for (const level of levels.slice(1)) {
    await open(playbackId);
    await readFrames(page);
    // If it played on, the short video would end on a busy machine before the level is chosen.
    await page.evaluate(() => {
      const video = document.querySelector('video')!;
      video.pause();
      video.currentTime = 0;
    });
    await page.getByRole('button', { name: 'Settings' }).click();
    await quality.selectOption({ label: level });
    await playAt(page, 2);
    await page.evaluate(() => document.querySelector('video')!.play());
    // The segment that is playing stays as it is, the next one is of the chosen level.
    await page.waitForFunction(
      (height) => {
        const video = document.querySelector('video')!;
        return video.videoHeight === height && video.currentTime > 4.5;
      },
      Number.parseInt(level, 10),
      { timeout: 120_000 },
    );
    const { frames, corrupted } = await state();
    expect(wrongFrames(frames, RATE)).toEqual([]);
    expect(corrupted).toBe(0);
  }
});

test('a page opened too early waits and starts by itself', async () => {
  const bytes = await readFile(await fixture('long.mp4'));
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const slow = await startOrigin((request, response) => {
    void released.then(() => serveFile(request, response, bytes, '"v1"'));
  });
  watched.expected = /412/;
  const asset = await createAsset(server, { inputs: [{ url: slow.url }], playback_policies: ['public'] });
  const reloaded = await page.goto(`${server.url}/${asset.playback_ids![0]!.id}`);
  expect(reloaded!.status()).toBe(412);
  await page.waitForSelector('#message:not([hidden])');
  expect(await page.textContent('#message')).toContain('being prepared');
  release();
  await page.waitForFunction(() => (document.querySelector('video')?.currentTime ?? 0) > 0);
  await slow.stop();
});

test('a page opened too early says so when the video turns out to be none', async () => {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const slow = await startOrigin((request, response) => {
    void released.then(() => serveFile(request, response, Buffer.from('no video'), '"v1"'));
  });
  const asset = await createAsset(server, { inputs: [{ url: slow.url }], playback_policies: ['public'] });
  const address = `${server.url}/${asset.playback_ids![0]!.id}`;
  watched.expected = /412/;
  await page.goto(address);
  await page.waitForSelector('#message:not([hidden])');
  expect(await page.textContent('#message')).toContain('being prepared');
  release();
  await page.waitForFunction(() => document.querySelector('#message')?.textContent?.includes('could not be processed'));
  expect((await page.goto(address))!.status()).toBe(412);
  await page.waitForFunction(() => document.querySelector('#message')?.textContent?.includes('could not be processed'));
  await slow.stop();
});

test("the browser's own HLS plays the same address", async () => {
  const playbackId = await playable(0, 'Native');
  watched.expected = /404/;
  await page.goto(`${server.url}/${'x'.repeat(40)}`);
  await page.evaluate((source) => {
    const video = document.createElement('video');
    document.body.append(video);
    video.src = source;
    return video.play();
  }, `/${playbackId}.m3u8`);
  await readFrames(page);
  await playAt(page, 2);
  await page.waitForFunction(() => document.querySelector('video')!.currentTime > 5);
  const { frames, corrupted, duration } = await state();
  expect(duration).toBeCloseTo(20, 1);
  expect(corrupted).toBe(0);
  expect(wrongFrames(frames, RATE)).toEqual([]);
});

test('the page says why a video does not play', async () => {
  watched.expected = /404/;
  await page.goto(`${server.url}/${'x'.repeat(40)}`);
  await page.waitForSelector('#message:not([hidden])');
  expect(await page.textContent('#message')).toBe('This video does not exist.');
});

test.each([
  ['audio that is longer than the video', 2, 7.3],
  ['a variable frame rate', 3, undefined],
])('%s ends when the playlist says', async (title, file, seconds) => {
  const playbackId = await playable(file, title);
  await open(playbackId);
  const playlist = await page.evaluate(() => document.querySelector('video')!.duration);
  await page.evaluate(() => {
    const video = document.querySelector('video')!;
    video.currentTime = video.duration - 0.5;
  });
  await page.waitForFunction(() => document.querySelector('video')!.ended);
  const { duration, corrupted } = await state();
  expect(Math.abs(duration - playlist)).toBeLessThan(1 / RATE);
  if (seconds !== undefined) expect(Math.abs(duration - seconds)).toBeLessThan(1 / RATE);
  expect(corrupted).toBe(0);
});

// Chromium starts with three frames or the end of the stream, and hls.js announces no end before
// the start.
test.each([
  ['one frame beside audio', 4, 1.2],
  ['two frames beside audio', 5, 2],
])('%s plays to the end', async (title, file, seconds) => {
  const playbackId = await playable(file, title);
  await page.goto(`${server.url}/${playbackId}`);
  await page.waitForFunction(() => document.querySelector('video')!.ended);
  const { duration, corrupted } = await state();
  expect(Math.abs(duration - seconds)).toBeLessThan(1 / RATE);
  expect(corrupted).toBe(0);
});
