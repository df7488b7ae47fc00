/**
 * What holds for every screen: the keyboard, live status, dates, the empty list, narrow windows.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { useBrowser } from '../../support/players/browser.js';
import { expectAccessible, inConsole, openConsole } from '../../support/players/console-page.js';
import { isFocused, tabTo, unreachable } from '../../support/players/keyboard.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { type Origin, startOrigin } from '../../support/servers/origin.js';
import { serveNamed } from '../../support/servers/text-origin.js';
import { api, createAsset, getAsset, settled } from '../../support/wire/create-asset.js';

let server: Booted;
let origin: Origin;
/** Holds its answers back until it is told. */
let stalled: Origin;
let release = (): void => undefined;

beforeAll(async () => {
  const video = await fixture('h264-aac.mp4');
  origin = await serveNamed({ 'waves.mp4': { path: video } });
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  stalled = await startOrigin(async (_, response) => {
    await released;
    response.writeHead(302, { location: `${origin.url}/waves.mp4` }).end();
  });
  server = await boot();
});
afterAll(async () => {
  release();
  await server?.stop();
  await stalled?.stop();
  await origin?.stop();
});
const browser = useBrowser();

it('the command of the empty list creates an asset, which appears and becomes ready without a reload', async () => {
  const { page } = await openConsole(browser, server);
  await page.getByText('Drop video or audio files or folders here').waitFor();
  const command = (await page.getByRole('region', { name: 'the command' }).textContent())!;
  expect(command).toContain(`${server.url}/video/v1/assets`);
  await page.evaluate(() => Object.assign(window, { isSamePage: true }));
  const { stdout } = await promisify(execFile)(
    'bash',
    ['-c', command.replace('https://example.com/video.mp4', `${stalled.url}/waves.mp4`)],
    { env: { ...process.env, TOKEN_ID: server.token.id, TOKEN_SECRET: server.token.secret } },
  );
  const { id } = JSON.parse(stdout).data;
  const row = page.getByRole('row', { name: `Untitled ${id.slice(0, 8)}` });
  await row.getByText('Preparing').waitFor();
  release();
  await row.getByText('Ready').waitFor();
  await row.getByText(/^0:\d\d$/).waitFor();
  expect(await page.evaluate('window.isSamePage')).toBe(true);
  await page.context().close();
});

it('the keyboard alone signs in, opens an asset, changes its title and deletes it', async () => {
  const body = {
    inputs: [{ url: `${origin.url}/waves.mp4` }],
    playback_policies: ['public'],
    meta: { title: 'Waves' },
  };
  const { id } = await settled(server, (await createAsset(server, body)).id);
  const { page } = await browser.open(inConsole);
  await page.goto(`${server.url}/console`);
  await tabTo(page, page.getByLabel('Token ID'));
  await page.keyboard.type(server.token.id);
  await tabTo(page, page.getByLabel('Token secret'));
  await page.keyboard.type(server.token.secret);
  await tabTo(page, page.getByRole('button', { name: 'Sign in' }));
  await page.keyboard.press('Enter');

  const asset = page.getByRole('link', { name: 'Waves' });
  await asset.waitFor();
  expect(await isFocused(page.getByRole('heading', { level: 1, name: 'Assets' }))).toBe(true);
  expect(await unreachable(page)).toEqual([]);
  await page.keyboard.press('/');
  expect(await isFocused(page.getByRole('searchbox'))).toBe(true);
  await page.keyboard.press('Escape');
  expect(await isFocused(page.getByRole('searchbox'))).toBe(false);
  await tabTo(page, page.getByRole('button', { name: 'All' }));
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Ready', pressed: true }).waitFor();
  await tabTo(page, asset);
  await page.keyboard.press('Enter');

  await page.getByRole('heading', { level: 1, name: 'Waves' }).waitFor();
  await expect.poll(() => isFocused(page.getByRole('heading', { level: 1 }))).toBe(true);
  await page.frameLocator('iframe.stage').locator('video').waitFor();
  expect(await unreachable(page)).toEqual([]);
  await tabTo(page, page.getByLabel('Title'));
  await page.keyboard.press('Control+a');
  await page.keyboard.type('Harbour');
  await tabTo(page, page.getByRole('button', { name: 'Save' }));
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Harbour' }).waitFor();

  const button = page.getByRole('button', { name: 'Delete', exact: true }).first();
  await tabTo(page, button, 'Shift+Tab');
  const question = page.getByRole('alertdialog', { name: 'Delete “Harbour”?' });
  await page.keyboard.press('Enter');
  await question.waitFor();
  await page.keyboard.press('Escape');
  await question.waitFor({ state: 'hidden' });
  await expect.poll(() => isFocused(button)).toBe(true);
  expect((await getAsset(server, id)).status).toBe('ready');
  await page.keyboard.press('Enter');
  await tabTo(page, question.getByRole('button', { name: 'Delete' }));
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Assets' }).waitFor();
  await expect.poll(() => isFocused(page.getByRole('heading', { level: 1 }))).toBe(true);
  expect(await getAsset(server, id)).toBeUndefined();
  await page.context().close();
});

it('the menu of narrow windows and forms open with the keyboard, keep the focus, and give it back', async () => {
  const { page } = await openConsole(browser, server, '/webhooks', { viewport: { width: 390, height: 844 } });
  for (const [name, title] of [
    ['Menu', 'Menu'],
    ['Add webhook', 'Add webhook'],
  ] as const) {
    const button = page.getByRole('button', { name, exact: true }).first();
    await tabTo(page, button);
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: title });
    await dialog.waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    const isInside = () => dialog.evaluate((element) => element.contains(document.activeElement));
    // It gets the focus just after it is visible.
    await expect.poll(isInside).toBe(true);
    for (let presses = 0; presses < 30; presses++) {
      await page.keyboard.press('Tab');
      await expect.poll(isInside, { message: `after ${presses + 1} presses` }).toBe(true);
    }
    await page.keyboard.press('/');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    await expect.poll(() => isFocused(button)).toBe(true);
  }
  await page.context().close();
});

it('dates and numbers are written as in the language and the time zone of the browser', async () => {
  const [first] = (await (await api(server, 'GET', '/video/v1/assets')).json()).data;
  const { page } = await openConsole(browser, server, '/assets', {
    locale: 'de-DE',
    timezoneId: 'America/New_York',
  });
  const name = `Untitled ${first.id.slice(0, 8)}`;
  const time = page.getByRole('row', { name }).locator('time');
  const format = new Intl.DateTimeFormat('de-DE', {
    ...{ dateStyle: 'medium', timeStyle: 'short', timeZone: 'America/New_York' },
  });
  const expected = format.format(new Date(Number(first.created_at) * 1000));
  expect(await time.getAttribute('title')).toBe(expected);
  expect(await time.textContent()).toMatch(/^(vor \d+ (Sekunden?|Minuten?)|jetzt)$/);
  await page.getByRole('link', { name }).click();
  await page.getByText(expected).waitFor();
  await page.context().close();
});

it('no screen scrolls sideways at 390 pixels, however long the words are', async () => {
  const word = 'Donaudampfschifffahrtsgesellschaft'.repeat(12);
  const inputs = [{ url: `${origin.url}/missing-${'x'.repeat(300)}.mp4` }];
  const broken = await createAsset(server, { inputs, meta: { title: word, external_id: word.slice(0, 128) } });
  await settled(server, broken.id);
  const { page } = await openConsole(browser, server, '/assets', { viewport: { width: 390, height: 844 } });
  const paths = ['/assets', `/assets/${broken.id}`, '/nothing-here'];
  for (const part of ['playback', 'audience', 'files', 'api']) paths.push(`/assets/${broken.id}/${part}`);
  const url = `rtmp://example.com/${'x'.repeat(300)}`;
  const live = { playback_policies: ['public'], meta: { title: word }, simulcast_targets: [{ url }] };
  const { id: liveId } = (await (await api(server, 'POST', '/video/v1/live-streams', live)).json()).data;
  for (const part of ['', 'playback', 'recordings', 'audience', 'simulcast', 'settings', 'events', 'api'])
    paths.push(`/live/${liveId}/${part}`);
  await page.getByRole('button', { name: 'Menu' }).click();
  const links = page.getByRole('dialog').getByRole('link');
  for (const link of await links.all()) {
    const href = (await link.getAttribute('href'))!;
    if (href.startsWith('/console/')) paths.push(href.slice('/console'.length));
  }
  expect(paths.length).toBeGreaterThan(19);
  for (const path of paths) {
    await page.goto(`${server.url}/console${path}`);
    await page.locator('#screen h1').waitFor();
    await page.getByText('Loading …').first().waitFor({ state: 'hidden' });
    await expectAccessible(page).catch((error: Error) => {
      throw new Error(`${path}: ${error.message}`);
    });
  }
  await page.goto(`${server.url}/console/assets?search=${word}`);
  await page.getByRole('link', { name: word }).waitFor();
  await expectAccessible(page);
  await page.context().clearCookies();
  await page.goto(`${server.url}/console`);
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await expectAccessible(page);
});

it('at 390 pixels lists are cards, titles have at most two lines, parts stand before facts, and buttons beside URLs', async () => {
  const title =
    'Annual general meeting, third session of the morning, with questions from the floor and a closing statement';
  const body = { inputs: [{ url: `${origin.url}/waves.mp4` }], playback_policies: ['public'], meta: { title } };
  const { id } = await settled(server, (await createAsset(server, body)).id);
  const { page } = await openConsole(browser, server, `/assets?search=annual`, {
    viewport: { width: 390, height: 844 },
  });
  const boxOf = async (locator: Locator) => (await locator.boundingBox())!;
  const linesOf = (locator: Locator): Promise<number> =>
    locator.evaluate((of) => Math.round(of.clientHeight / Number.parseFloat(getComputedStyle(of).lineHeight)));
  const row = page.getByRole('row', { name: title });
  expect(await linesOf(row.getByRole('link'))).toBe(2);
  for (const text of [row.getByText('Ready'), row.locator('time'), row.getByText(/^0:\d\d$/)]) {
    const { x, width } = await boxOf(text);
    expect(x + width).toBeLessThanOrEqual(390);
  }
  // A card has its texts below the title, not beside it.
  expect((await boxOf(row.getByText('Ready'))).y).toBeGreaterThan((await boxOf(row.getByRole('link'))).y + 20);
  await page.getByRole('button', { name: 'Title' }).click();
  await page.waitForURL(/sort=-title/);

  await page.goto(`${server.url}/console/assets/${id}/playback`);
  expect(await linesOf(page.getByRole('heading', { level: 1 }))).toBe(2);
  const parts = page.getByRole('navigation', { name: 'Parts of the asset' });
  expect((await boxOf(parts)).y).toBeLessThan((await boxOf(page.getByText('Asset ID'))).y);
  for (const part of await parts.getByRole('link').all()) {
    const { x, width } = await boxOf(part);
    expect(x + width).toBeLessThanOrEqual(390);
  }
  const url = await boxOf(page.getByRole('region', { name: 'HLS link' }));
  const button = await boxOf(page.getByRole('button', { name: 'Copy HLS link' }));
  expect(url.x + url.width).toBeLessThanOrEqual(button.x);
  await expectAccessible(page);

  await page.goto(`${server.url}/console/uploads`);
  for (const name of ['Who may watch', 'Video quality']) {
    const select = page.getByLabel(name);
    const { width } = await boxOf(select);
    const needed = await select.evaluate((of) => {
      of.style.width = 'max-content';
      return of.getBoundingClientRect().width;
    });
    expect(width, name).toBeGreaterThanOrEqual(needed);
  }
  await page.context().close();
});

it('devices without keys have no hints about keys', async () => {
  const body = { inputs: [{ url: `${origin.url}/waves.mp4` }], meta: { title: 'Waves' } };
  const { id } = await settled(server, (await createAsset(server, body)).id);
  for (const hasTouch of [false, true]) {
    const { page } = await openConsole(browser, server, '/assets', { hasTouch, isMobile: hasTouch });
    const key = page.locator('kbd').first();
    for (const path of ['/assets', `/assets/${id}/frames`]) {
      await page.goto(`${server.url}/console${path}`);
      await key.waitFor({ state: 'attached' });
      expect(await key.isVisible(), path).toBe(!hasTouch);
    }
    await page.getByText('The clip includes the frames at which it starts and ends.').waitFor();
    await page.context().close();
  }
});
