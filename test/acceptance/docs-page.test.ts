import type { Browser, Page } from 'playwright-core';
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

const open = async (page: Page): Promise<void> => {
  await page.goto(`${server.url}/docs`);
  await page.locator('.opblock').first().waitFor();
};
/** Searches for the summary of one operation and opens it; descriptions of a few others may have the same words. */
const openOperation = async (page: Page, summary: string): Promise<void> => {
  await page.locator('.operation-filter-input').fill(summary.toLowerCase());
  await page.waitForFunction(() => document.querySelectorAll('.opblock').length <= 5);
  const found = page.locator('.opblock', { has: page.getByText(summary, { exact: true }) });
  await found.locator('.opblock-summary-control').click();
};

it('lists and searches operations, shows examples and sends requests, to this server only', async () => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const watched = watch(page);
  await open(page);
  expect(await page.title()).toBe('Kinora API');
  const description = await (await fetch(`${server.url}/openapi.json`)).json();
  const operations = Object.values<object>(description.paths).flatMap((methods) => Object.values(methods));
  expect(await page.locator('.opblock').count()).toBe(operations.length);

  await openOperation(page, 'Create an asset');
  const body = page.locator('.opblock-section-request-body');
  await body.filter({ hasText: 'https://media.example.org/walk.mp4' }).waitFor();

  await page.locator('.auth-wrapper .authorize').first().click();
  await page.locator('.modal-ux input[type=text]').fill(server.token.id);
  await page.locator('.modal-ux input[type=password]').fill(server.token.secret);
  await page.locator('.modal-ux .authorize').click();
  await page.locator('.modal-ux .btn-done').click();
  await openOperation(page, 'List assets');
  await page.locator('.try-out__btn').click();
  await page.locator('.execute').click();
  const answer = page.locator('.live-responses-table tbody .response');
  await answer.waitFor();
  expect(await answer.locator('.response-col_status').textContent()).toContain('200');
  expect(await answer.textContent()).toContain('"data": []');

  expect(watched.problems).toEqual([]);
  expect(watched.requested.filter((url) => !url.startsWith(`${server.url}/`))).toEqual([]);
});

it('fits the width of a telephone', async () => {
  const page = await browser.newPage({ viewport: { width: 380, height: 700 } });
  await open(page);
  const widths = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
  expect(widths[0]).toBeLessThanOrEqual(widths[1]!);
});
