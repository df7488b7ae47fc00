import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { counterOf, readRgbFrames } from '../../support/media/measure.js';
import { useBrowser } from '../../support/players/browser.js';
import type { Watched } from '../../support/players/chromium.js';
import { expectAccessible, openConsole } from '../../support/players/console-page.js';
import { playThrough } from '../../support/players/play-through.js';
import { readFrames } from '../../support/players/playback-checks.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import type { Origin } from '../../support/servers/origin.js';
import { createAsset, getAsset, serveFiles, settled, type WireAsset } from '../../support/wire/create-asset.js';

let server: Booted;
let origin: Origin;
let asset: WireAsset;
let page: Page;
let watched: Watched;

beforeAll(async () => {
  server = await boot();
  origin = await serveFiles([await fixture('h264-aac.mp4')]);
  const inputs = [{ url: `${origin.url}/0.mp4` }];
  const created = await createAsset(server, { inputs, playback_policies: ['public'], meta: { title: 'Waves' } });
  asset = await settled(server, created.id);
  ({ page, watched } = await openConsole(browser, server, `/assets/${asset.id}/frames`));
  await page.getByRole('button', { name: 'Next frame' }).and(page.locator(':enabled')).waitFor();
});
afterAll(async () => {
  await origin?.stop();
  await server?.stop();
});
const browser = useBrowser();

const time = () => page.getByRole('region', { name: 'Frame' }).getByRole('status').first();
const player = () => page.frameLocator('iframe.stage').locator('video');
const frameAt = async (url: string): Promise<number | undefined> => {
  const response = await fetch(new URL(url, server.url));
  expect(response.status).toBe(200);
  return counterOf(readRgbFrames([Buffer.from(await response.arrayBuffer())])[0]!);
};

it('a frame that was found by scrubbing becomes the poster of the asset, the list and the player page', async () => {
  const pid = asset.playback_ids![0]!.id;
  await page.getByText('The default: the frame in the middle.').waitFor();
  await expectAccessible(page);
  const slider = page.getByRole('slider', { name: 'Time' });
  // Scrubbing: many positions, of which the last one counts.
  for (const frame of ['30', '120', '74', '75']) await slider.fill(frame);
  await expect.poll(() => time().textContent()).toBe('0:02.500');
  await page.getByRole('button', { name: 'Use as the poster' }).click();
  await page.getByText('The frame at 0:02.517.').waitFor();
  expect((await getAsset(server, asset.id)).thumbnail_time).toBe(2.517);
  const image = page.getByRole('img', { name: 'Poster' });
  await expect.poll(() => image.evaluate((element: HTMLImageElement) => element.naturalWidth)).toBeGreaterThan(0);
  expect(await frameAt((await image.getAttribute('src'))!)).toBe(75);
  // Others ask for the poster without a time.
  await expect.poll(() => frameAt(`/${pid}/thumbnail.png`)).toBe(75);

  await page.reload();
  await expect.poll(() => player().getAttribute('poster')).toContain('time=2.517');
  expect(await frameAt((await player().getAttribute('poster'))!)).toBe(75);
  await page.getByRole('link', { name: 'Assets', exact: true }).first().click();
  const listed = page.locator('img.poster');
  expect(await frameAt((await listed.getAttribute('src'))!)).toBe(75);

  await page.goBack();
  await page.getByRole('button', { name: 'Back to the default' }).click();
  await page.getByText('The default: the frame in the middle.').waitFor();
  expect(await getAsset(server, asset.id)).not.toHaveProperty('thumbnail_time');
});

it('a clip made with the keyboard alone has exactly the chosen frames', async () => {
  await page.getByRole('slider', { name: 'Time' }).fill('0');
  await expect.poll(() => time().textContent()).toBe('0:00.000');
  await page.getByRole('heading', { name: 'Waves', level: 1 }).focus();
  // 40 frames of a thirtieth of a second. Held keys may be faster than the player.
  for (let frame = 0; frame < 40; frame++) await page.keyboard.press('.');
  await expect.poll(() => time().textContent()).toBe('0:01.333');
  await page.keyboard.press('i');
  await page.getByText('The clip starts at 0:01.333.').waitFor();
  await page.keyboard.press('o');
  await page.getByText('A clip ends at least half a second after its start.').waitFor();
  await page.getByRole('slider', { name: 'Time' }).focus();
  for (let frame = 0; frame < 50; frame++) await page.keyboard.press('ArrowRight');
  await expect.poll(() => time().textContent()).toBe('0:03.000');
  await page.keyboard.press(',');
  await expect.poll(() => time().textContent()).toBe('0:02.967');
  await page.keyboard.press('o');
  await page.getByText('It ends at 0:03.000.').waitFor();
  await expectAccessible(page);

  const title = page.getByLabel('Title');
  await title.fill('Best moment');
  await title.press('Enter');
  const clips = page.getByRole('list', { name: 'New clips' });
  await clips.getByText('Ready').waitFor();
  await expectAccessible(page);
  await clips.getByRole('link', { name: 'Best moment' }).press('Enter');
  await page.getByRole('heading', { name: 'Best moment', level: 1 }).waitFor();
  await page.getByText('Clip of another asset').waitFor();
  const clip = await getAsset(server, new URL(page.url()).pathname.split('/').at(-1)!);
  expect(clip).toMatchObject({ source_asset_id: asset.id, video_quality: asset.video_quality });
  expect(clip.playback_ids!.map(({ policy }) => policy)).toEqual(['public']);
  const played = await playThrough(`${server.url}/${clip.playback_ids![0]!.id}.m3u8`);
  const counters = readFrames(played.variants[0]!).map(({ counter }) => counter);
  // 89 is the frame at 2.967 s.
  expect(counters).toEqual(Array.from({ length: 50 }, (_, index) => 40 + index));
  expect(watched.problems.filter((line) => /Content Security Policy|Uncaught/.test(line))).toEqual([]);
});

it('works with a signed playback ID, and in browsers that tell no times of frames', async () => {
  const inputs = [{ url: `mux://assets/${asset.id}`, end_time: 2 }];
  const created = await createAsset(server, { inputs, playback_policies: ['signed'], meta: { title: 'Secret' } });
  const signed = await settled(server, created.id);
  await page.addInitScript(() => {
    Reflect.deleteProperty(HTMLVideoElement.prototype, 'requestVideoFrameCallback');
  });
  await page.goto(`${server.url}/console/assets/${signed.id}/frames`);
  await page.getByRole('button', { name: 'Next frame' }).and(page.locator(':enabled')).waitFor();
  await page.getByRole('slider', { name: 'Time' }).fill('20');
  await page.getByRole('button', { name: 'Previous frame' }).click();
  await expect.poll(() => time().textContent()).toBe('0:00.633');
  await page.getByRole('button', { name: 'Use as the poster' }).click();
  await page.getByText('The frame at 0:00.650.').waitFor();
  const image = page.getByRole('img', { name: 'Poster' });
  await expect.poll(() => image.evaluate((element: HTMLImageElement) => element.naturalWidth)).toBeGreaterThan(0);
  const url = new URL((await image.getAttribute('src'))!);
  expect([...url.searchParams.keys()]).toEqual(['token']);
  expect(await frameAt(url.href)).toBe(19);
  await page.getByRole('button', { name: 'Make the clip' }).click();
  const link = page.getByRole('list', { name: 'New clips' }).getByRole('link', { name: 'Clip of Secret' });
  const clip = await getAsset(server, (await link.getAttribute('href'))!.split('/').at(-1)!);
  expect(clip).toMatchObject({ source_asset_id: signed.id, playback_ids: [{ policy: 'signed' }] });
});
