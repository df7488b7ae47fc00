import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixture } from '../support/media/fixtures.js';
import { useBrowser } from '../support/players/browser.js';
import { type Booted, boot } from '../support/servers/boot.js';
import type { Origin } from '../support/servers/origin.js';
import { serveFiles } from '../support/wire/create-asset.js';

let server: Booted;
let origin: Origin;

beforeAll(async () => {
  [server, origin] = await Promise.all([boot(), fixture('audio-only.m4a').then((path) => serveFiles([path]))]);
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
});
const browser = useBrowser();

const open = async (page: Page): Promise<void> => {
  await page.goto(`${server.url}/docs`);
  await page.locator('.opblock').first().waitFor();
};
/**
 * Searches for the summary of one operation and opens it; descriptions of a few others may have the
 * same words.
 */
const openOperation = async (page: Page, summary: string): Promise<Locator> => {
  await page.getByRole('searchbox', { name: 'Search operations' }).fill(summary.toLowerCase());
  await page.waitForFunction(() => document.querySelectorAll('.opblock').length <= 8);
  const found = page.locator('.opblock', { has: page.getByText(summary, { exact: true }) });
  await found.locator('.opblock-summary-control').click();
  return found;
};
const enterToken = async (page: Page): Promise<void> => {
  await page.locator('.auth-wrapper .authorize').first().click();
  await page.locator('.modal-ux input[type=text]').fill(server.token.id);
  await page.locator('.modal-ux input[type=password]').fill(server.token.secret);
  await page.locator('.modal-ux .authorize').click();
  await page.locator('.modal-ux .btn-done').click();
};
/** Sends the request of an open operation; the status and the body of its response. */
const execute = async (operation: Locator): Promise<[string, string]> => {
  await operation.locator('.execute').click();
  const response = operation.locator('.live-responses-table tbody .response');
  await response.waitFor();
  return [
    (await response.locator('.response-col_status').textContent()) ?? '',
    (await response.locator('.highlight-code code, .microlight').first().textContent()) ?? '',
  ];
};

it('lists and searches operations, shows examples and sends requests, to this server only', async () => {
  const { page, watched } = await browser.open({ viewport: { width: 1280, height: 900 } });
  await open(page);
  expect(await page.title()).toBe('Kinora API');
  const description = await (await fetch(`${server.url}/openapi.json`)).json();
  const operations = [description.paths, description.webhooks].flatMap((paths) =>
    Object.values<object>(paths).flatMap((methods) => Object.values(methods)),
  );
  expect(await page.locator('.opblock').count()).toBe(operations.length);
  await enterToken(page);

  const create = await openOperation(page, 'Create an asset');
  const body = create.locator('.opblock-section-request-body');
  await body.filter({ hasText: 'https://media.example.org/walk.mp4' }).waitFor();
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await create.getByRole('button', { name: 'Python', exact: true }).click();
  await create.getByRole('button', { name: 'Copy', exact: true }).click();
  await create.getByRole('button', { name: 'Copied', exact: true }).waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(copied).toContain('import base64, json, os, urllib.request');
  expect(copied).toContain('https://media.example.org/walk.mp4');

  await create.locator('.try-out__btn').click();
  await body.locator('textarea').fill(JSON.stringify({ inputs: [{ url: `${origin.url}/0` }], passthrough: 'docs' }));
  const [created, response] = await execute(create);
  expect(created).toContain('201');
  const asset = JSON.parse(response).data;
  expect(asset).toMatchObject({ passthrough: 'docs', status: 'preparing' });

  const get = await openOperation(page, 'Retrieve an asset');
  await get.locator('.try-out__btn').click();
  await get.locator('tr[data-param-name=assetId] input').fill(asset.id);
  const [got, again] = await execute(get);
  expect(got).toContain('200');
  expect(JSON.parse(again).data).toMatchObject({ id: asset.id, passthrough: 'docs' });

  // The browser reports what the content security policy refuses as an error.
  expect(watched.problems).toEqual([]);
  expect(watched.requested.filter((url) => !url.startsWith(`${server.url}/`))).toEqual([]);
});

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

it.each([
  ['light', 1280],
  ['dark', 390],
] as const)('is accessible and fits in the %s theme, %i pixels wide', async (colorScheme, width) => {
  const { page } = await browser.open({ viewport: { width, height: 800 }, colorScheme, isMobile: width < 400 });
  await open(page);
  const dark = await page.locator('html.dark-mode').count();
  expect(dark).toBe(colorScheme === 'dark' ? 1 : 0);
  const fits = () => page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth);
  expect(await fits()).toBe(true);
  expect(await page.evaluate(() => window.innerWidth)).toBe(width);
  await page.evaluate(axe);
  const violations = await page.evaluate(async () => {
    const found = await (globalThis as unknown as { axe: { run(): Promise<{ violations: object[] }> } }).axe.run();
    return found.violations.map((violation) => JSON.stringify(violation).slice(0, 600));
  });
  expect(violations).toEqual([]);
  await openOperation(page, 'Create an asset');
  await page.locator('.opblock-section-request-body').waitFor();
  expect(await fits()).toBe(true);
});
