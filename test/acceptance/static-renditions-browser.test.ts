import { afterAll, beforeAll, expect, test } from 'vitest';
import { fixture } from '../support/media/fixtures.js';
import { useBrowser } from '../support/players/browser.js';
import { readFrames } from '../support/players/chromium.js';
import { type Booted, boot } from '../support/servers/boot.js';
import type { Origin } from '../support/servers/origin.js';
import { createAsset, serveFiles, type WireAsset } from '../support/wire/create-asset.js';
import { filesOf, withFiles } from '../support/wire/static-renditions.js';

let server: Booted;
let origin: Origin;
let asset: WireAsset;
beforeAll(async () => {
  origin = await serveFiles([await fixture('longer.mp4')]);
  server = await boot();
  const created = await createAsset(server, {
    inputs: [{ url: `${origin.url}/0` }],
    playback_policies: ['public'],
    static_renditions: [{ resolution: 'highest' }],
  });
  asset = await withFiles(server, created.id, 240_000);
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
});
const browser = useBrowser();

test('a browser plays a file as it is and seeks in it, without looking for its index', async () => {
  const address = `${server.url}/${asset.playback_ids![0]!.id}/highest.mp4`;
  const { page } = await browser.open();
  const ranges: Promise<string>[] = [];
  page.on('request', (request) => {
    if (request.url() === address) ranges.push(request.allHeaders().then(({ range = 'bytes=0-' }) => range));
  });
  await page.setContent(`<video src="${address}" crossorigin="anonymous" muted></video>`);
  await page.waitForFunction(() => document.querySelector('video')!.readyState >= 3);
  // How a browser reads is its own affair, but it need not look for the index where a file without
  // this care has it: at the end.
  const sizeBytes = Number((await fetch(address, { method: 'HEAD' })).headers.get('content-length'));
  const starts = (await Promise.all(ranges)).map((range) => Number(/^bytes=(\d+)-/.exec(range)?.[1]));
  expect(starts[0]).toBe(0);
  for (const start of starts) expect(start).toBeLessThan(sizeBytes / 2);
  expect(await page.evaluate(() => document.querySelector('video')!.duration)).toBeCloseTo(asset.duration!, 1);

  await readFrames(page);
  await page.evaluate(() => document.querySelector('video')!.play());
  await page.waitForFunction(() => document.querySelector('video')!.currentTime > 1);
  await page.evaluate(() => {
    document.querySelector('video')!.currentTime = 41.5;
  });
  await page.waitForFunction(() => document.querySelector('video')!.currentTime > 42.5);
  const frames = await page.evaluate(() => window.playedFrames);
  expect(frames.some(({ mediaSeconds }) => mediaSeconds < 2)).toBe(true);
  expect(frames.some(({ mediaSeconds }) => mediaSeconds > 41)).toBe(true);
  for (const { mediaSeconds, counter } of frames) expect(Math.abs(counter - mediaSeconds * 30)).toBeLessThan(1);
  const { width, height } = filesOf(asset)[0]!;
  expect(
    await page.evaluate(() => [
      document.querySelector('video')!.videoWidth,
      document.querySelector('video')!.videoHeight,
    ]),
  ).toEqual([width, height]);
});
