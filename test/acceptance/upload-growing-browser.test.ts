import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fixture } from '../support/media/fixtures.js';
import { useBrowser } from '../support/players/browser.js';
import { playAt, readFrames } from '../support/players/chromium.js';
import { wrongFrames } from '../support/players/video-page.js';
import { type Booted, boot } from '../support/servers/boot.js';
import { settled } from '../support/wire/create-asset.js';
import { earlyUploads } from '../support/wire/early-upload.js';
import { sendChunk } from '../support/wire/uploading.js';

const RATE = 10;
const SECONDS = 72;

let server: Booted;
beforeAll(async () => {
  server = await boot();
});
afterAll(async () => {
  await server?.stop();
});
const browser = useBrowser();

const { create, read, untilPlayable, sendRest } = earlyUploads(() => server);

test.each(['growing.ts', 'growing-no-cues.mkv'] as const)(
  '%s plays from its start while half has arrived, and to its end when the rest has',
  async (name) => {
    const file = await readFile(await fixture(name));
    const { id, url } = await create();
    expect((await sendChunk(url!, file, 0, Math.floor(file.length / 2), file.length)).status).toBe(308);
    const playbackId = await untilPlayable(id);
    const { page } = await browser.open();
    await page.goto(`${server.url}/${playbackId}`);
    await readFrames(page);
    await page.evaluate(() => document.querySelector('video')!.play());
    await playAt(page, 2);
    await page.waitForFunction(() => document.querySelector('video')!.currentTime > 4);
    const paused = await page.evaluate(() => ({
      frames: window.playedFrames,
      ended: document.querySelector('video')!.ended,
    }));
    expect(paused.ended).toBe(false);
    expect(paused.frames[0]!.mediaSeconds).toBeLessThan(2);

    await sendRest(id, file);
    await settled(server, (await read(id)).asset_id!);
    await playAt(page, 4);
    await page.waitForFunction(() => document.querySelector('video')!.ended, undefined, { timeout: 200_000 });
    const end = await page.evaluate(() => {
      const video = document.querySelector('video')!;
      const { totalVideoFrames: total, corruptedVideoFrames: corrupted } = video.getVideoPlaybackQuality();
      return { time: video.currentTime, total, corrupted, frames: window.playedFrames };
    });
    expect(end.time).toBeCloseTo(SECONDS, 0);
    expect(end.corrupted).toBe(0);
    expect(end.total).toBeGreaterThanOrEqual(SECONDS * RATE);
    expect(wrongFrames(end.frames, RATE)).toEqual([]);
  },
);
