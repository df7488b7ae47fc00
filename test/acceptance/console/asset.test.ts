import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { useBrowser } from '../../support/players/browser.js';
import { expectAccessible, openConsole } from '../../support/players/console-page.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { type Origin, startOrigin } from '../../support/servers/origin.js';
import { api, createAsset, getAsset, serveFiles, settled, type WireAsset } from '../../support/wire/create-asset.js';

let server: Booted;
let origin: Origin;
let asset: WireAsset;
let broken: WireAsset;
let bad: string;
/** Of the request that created the broken asset. */
let requestId: string;
let page: Page;

beforeAll(async () => {
  server = await boot();
  bad = join(server.dataDir, 'no-video.mp4');
  await writeFile(bad, 'This is no video.');
  origin = await serveFiles([await fixture('h264-aac.mp4'), bad]);
  const first = await createAsset(server, { inputs: [{ url: `${origin.url}/0.mp4` }], playback_policies: ['signed'] });
  const body = { inputs: [{ url: `${origin.url}/1.mp4` }], playback_policies: ['public'] };
  const second = await api(server, 'POST', '/video/v1/assets', body);
  requestId = second.headers.get('x-request-id')!;
  [asset, broken] = [await settled(server, first.id), await settled(server, (await second.json()).data.id)];
  ({ page } = await openConsole(browser, server, `/assets/${asset.id}`));
});
afterAll(async () => {
  await origin?.stop();
  await server?.stop();
});
const browser = useBrowser();

it('plays the asset, changes its title and shows the call that did it', async () => {
  const player = page.frameLocator('iframe.stage').locator('video');
  await player.waitFor();
  await expect.poll(() => player.evaluate((video: HTMLVideoElement) => video.readyState)).toBeGreaterThan(0);
  await expectAccessible(page);
  const facts = page.locator('.facts');
  await facts.getByText('H.264, AAC').waitFor();
  await facts.getByText(/^MP4 or MOV, [\d.,]+ [kM]B, [\d.,]+ [kM]bit\/s$/).waitFor();
  await facts
    .getByText(/^\d+ × \d+, up to [\d.,]+ [kM]bit\/s/)
    .first()
    .waitFor();

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
  const { kid } = JSON.parse(atob(new URL(text).searchParams.get('token')!.split('.')[0]!));
  await page.getByText(`Signed with a signing key of this browser (${kid}). Delete that key`).waitFor();
  const playlist = new URL(text);
  playlist.pathname += '.m3u8';
  expect((await fetch(playlist)).status).toBe(200);
  await expect.poll(async () => (await fetch(playlist)).status, { timeout: 120_000, interval: 1000 }).toBe(403);
  await expectAccessible(page);

  await page.getByRole('button', { name: 'Add a public playback ID' }).click();
  await page.getByRole('button', { name: 'Embed code' }).click();
  expect(await page.getByRole('region', { name: 'embed code' }).textContent()).toContain('<iframe');
  const { data } = await (await api(server, 'GET', '/system/v1/whoami')).json();
  const muxPlayer = (await page.getByRole('region', { name: 'code for Mux Player' }).textContent())!;
  expect(muxPlayer).toContain('metadata-video-title="Harbour walk"');
  expect(muxPlayer).toContain(`env-key="${data.environment_id}"`);
  expect(muxPlayer).toContain(`beacon-collection-domain="${new URL(server.url).host}"`);
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

it('says in one click why a file failed, at which step and by which request, and tries again', async () => {
  await page.getByRole('link', { name: 'Assets', exact: true }).first().click();
  await page.getByRole('link', { name: `Untitled ${broken.id.slice(0, 8)}` }).click();
  const problem = page.getByRole('region', { name: 'Problem' });
  await problem.getByText(broken.errors!.messages[0]!).waitFor();
  await problem.getByText('probe', { exact: true }).waitFor();
  await problem.getByText(requestId, { exact: true }).waitFor();
  await problem.getByRole('button', { name: 'Copy request ID' }).waitFor();
  await expectAccessible(page);

  await copyFile(await fixture('h264-aac.mp4'), bad);
  await problem.getByRole('button', { name: 'Try again' }).click();
  const player = page.frameLocator('iframe.stage').locator('video');
  await expect.poll(() => player.evaluate((video: HTMLVideoElement) => video.readyState)).toBeGreaterThan(0);
  const again = new URL(page.url()).pathname.split('/').at(-1)!;
  expect(again).not.toBe(broken.id);
  expect((await getAsset(server, again)).status).toBe('ready');
  expect((await getAsset(server, broken.id)).status).toBe('errored');
});

it('says which option allows an input at a private address, as the command line does', async () => {
  const strict = await boot({ options: { ALLOW_PRIVATE_SOURCES: 'false' } });
  try {
    const { id } = await createAsset(strict, { inputs: [{ url: `${origin.url}/0.mp4` }] });
    await settled(strict, id);
    const opened = await openConsole(browser, strict, `/assets/${id}`);
    const problem = opened.page.getByRole('region', { name: 'Problem' });
    await problem
      .getByText('To import from a private address, start the server with --allow-private-sources.')
      .waitFor();
    await opened.page.context().close();
  } finally {
    await strict.stop();
  }
});

it('changes the title while the asset is being prepared', async () => {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const stalled = await startOrigin(async (_, response) => {
    await released;
    response.writeHead(302, { location: `${origin.url}/0.mp4` }).end();
  });
  try {
    const inputs = [{ url: `${stalled.url}/slow.mp4` }];
    const { id } = await createAsset(server, { inputs, playback_policies: ['public'], meta: { title: 'Slow' } });
    await page.goto(`${server.url}/console/assets/${id}`);
    await page.getByText('Preparing …').waitFor();
    await page.getByLabel('Title').fill('Still at work');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Still at work', level: 1 }).waitFor();
    expect(await getAsset(server, id)).toMatchObject({ status: 'preparing', meta: { title: 'Still at work' } });
    await page.getByLabel('Creator ID').fill('typed while it becomes ready');
    release();
    await page.frameLocator('iframe.stage').locator('video').waitFor();
    expect(await page.getByLabel('Creator ID').inputValue()).toBe('typed while it becomes ready');
    expect((await getAsset(server, id)).meta).toEqual({ title: 'Still at work' });
  } finally {
    release();
    await stalled.stop();
  }
});
