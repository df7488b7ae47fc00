import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { startChromium } from '../../support/players/chromium.js';
import { expectAccessible, openConsole } from '../../support/players/console-page.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import type { Origin } from '../../support/servers/origin.js';
import { api, createAsset, serveFiles, settled, type WireAsset } from '../../support/wire/create-asset.js';

let server: Booted;
let browser: Browser;
let origin: Origin;
let asset: WireAsset;
let broken: WireAsset;
let page: Page;

beforeAll(async () => {
  [server, browser] = await Promise.all([boot(), startChromium()]);
  const bad = join(server.dataDir, 'no-video.mp4');
  await writeFile(bad, 'This is no video.');
  origin = await serveFiles([await fixture('h264-aac.mp4'), bad]);
  const [first, second] = await Promise.all([
    createAsset(server, { inputs: [{ url: `${origin.url}/0.mp4` }], playback_policies: ['signed'] }),
    createAsset(server, { inputs: [{ url: `${origin.url}/1.mp4` }], playback_policies: ['public'] }),
  ]);
  [asset, broken] = [await settled(server, first.id), await settled(server, second.id)];
  ({ page } = await openConsole(browser, server, `/assets/${asset.id}`));
});
afterAll(async () => {
  await browser?.close();
  await origin?.stop();
  await server?.stop();
});

it('plays the asset, changes its title and shows the call that did it', async () => {
  const player = page.frameLocator('iframe.stage').locator('video');
  await player.waitFor();
  await expect.poll(() => player.evaluate((video: HTMLVideoElement) => video.readyState)).toBeGreaterThan(0);
  await expectAccessible(page);

  await page.getByLabel('Title').fill('Harbour walk');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Harbour walk', level: 1 }).waitFor();
  const { data } = await (await api(server, 'GET', `/video/v1/assets/${asset.id}`)).json();
  expect(data.meta).toMatchObject({ title: 'Harbour walk' });

  await page.getByRole('link', { name: 'API', exact: true }).click();
  const call = page.getByRole('region', { name: 'call 1' });
  expect(await call.textContent()).toContain('curl -X PATCH');
  expect(await call.textContent()).toContain('Harbour walk');
  expect(await page.getByRole('region', { name: 'the JSON' }).textContent()).toContain(asset.id);
  await expectAccessible(page);
});

it('makes a signed link that plays until it expires', async () => {
  await page.getByRole('link', { name: 'Playback', exact: true }).click();
  await page.getByLabel('Valid for').fill('30');
  await page.getByLabel('Unit').selectOption('seconds');
  await page.getByRole('button', { name: 'Make a signed link' }).click();
  const text = (await page.getByRole('region', { name: 'signed link', exact: true }).textContent())!.trim();
  const playlist = new URL(text);
  playlist.pathname += '.m3u8';
  expect((await fetch(playlist)).status).toBe(200);
  await expect.poll(async () => (await fetch(playlist)).status, { timeout: 120_000, interval: 1000 }).toBe(403);
  await expectAccessible(page);

  await page.getByRole('button', { name: 'Add a public playback ID' }).click();
  await page.getByRole('button', { name: 'Embed code' }).click();
  expect(await page.getByRole('region', { name: 'embed code' }).textContent()).toContain('<iframe');
});

it('makes a file and the master; the buttons become links', async () => {
  await page.getByRole('link', { name: 'Files', exact: true }).click();
  await page.getByLabel('Resolution').selectOption('audio-only');
  await page.getByRole('button', { name: 'Make a file' }).click();
  await page.getByRole('button', { name: 'Request the master' }).click();
  const file = page.getByRole('link', { name: 'Download', exact: true });
  await file.waitFor();
  expect((await fetch((await file.getAttribute('href'))!)).status).toBe(200);
  const master = page.getByRole('link', { name: 'Download the master' });
  await master.waitFor();
  expect((await fetch((await master.getAttribute('href'))!)).status).toBe(200);
  await expectAccessible(page);
});

it('says in one click why a file failed', async () => {
  await page.getByRole('link', { name: 'Assets', exact: true }).first().click();
  await page.getByRole('link', { name: broken.id }).click();
  const problem = page.getByRole('region', { name: 'Problem' });
  await problem.getByText(broken.errors!.messages[0]!).waitFor();
  await expectAccessible(page);
});
