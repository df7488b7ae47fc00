import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startChromium, watch } from '../support/players/chromium.js';
import { type Booted, boot } from '../support/servers/boot.js';

let server: Booted;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([boot(), startChromium()]);
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

it('is read in a browser without scripts, other requests or complaints', async () => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const watched = watch(page);
  await page.goto(`${server.url}/docs`);
  expect(await page.title()).toBe('Kinora API');
  const description = await (await fetch(`${server.url}/openapi.json`)).json();
  const operations = Object.values<object>(description.paths).flatMap((methods) => Object.values(methods));
  expect(await page.locator('main article h3').count()).toBe(
    operations.length + Object.keys(description.components.schemas).length,
  );
  // The style sheet is in force although the policy allows no other.
  expect(await page.evaluate(() => getComputedStyle(document.body).display)).toBe('grid');

  await page.getByRole('link', { name: 'Create an asset' }).click();
  await page.waitForFunction(() => document.querySelector('#createAsset')!.getBoundingClientRect().top < 100);
  const fields = page.locator('#createAsset details').first();
  expect(await fields.locator('table').first().isVisible()).toBe(false);
  await fields.locator('summary').first().click();
  expect(await fields.locator('table').first().isVisible()).toBe(true);

  // Every link within the page leads somewhere.
  const lost = await page.evaluate(() =>
    Array.from(document.querySelectorAll('a[href^="#"]'))
      .map((link) => link.getAttribute('href')!.slice(1))
      .filter((id) => !document.getElementById(id)),
  );
  expect(lost).toEqual([]);
  expect(watched.problems.filter((problem) => !problem.includes('favicon'))).toEqual([]);
  expect(watched.requested.filter((url) => !url.endsWith('/docs') && !url.includes('/docs#'))).toEqual([]);
});

it('fits the width of a telephone', async () => {
  const page = await browser.newPage({ viewport: { width: 380, height: 700 } });
  await page.goto(`${server.url}/docs`);
  const widths = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
  expect(widths[0]).toBeLessThanOrEqual(widths[1]!);
});
