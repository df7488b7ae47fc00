import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { expect } from 'vitest';
import type { Booted } from '../servers/boot.js';
import type { OpenedPage, TestBrowser } from './browser.js';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Requests of the console may be rejected: screens show it, and their tests judge it. */
export const inConsole = { expected: /^(?!uncaught|.*Content Security Policy)/ };

/** Opens the console in a profile of its own and signs in with a token. */
export const openConsole = async (
  browser: TestBrowser,
  server: { readonly url: string; readonly token: { readonly id: string; readonly secret: string } },
  path = '/assets',
  options: BrowserContextOptions = {},
): Promise<OpenedPage> => {
  const { page, watched } = await browser.open({ ...options, ...inConsole });
  await page.goto(`${server.url}/console${path}`);
  await page.getByLabel('Token ID').fill(server.token.id);
  await page.getByLabel('Token secret').fill(server.token.secret);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('#screen h1').waitFor();
  // Before it has signed in the session is unknown, and the browser says so.
  watched.problems.length = 0;
  return { page, watched };
};

/** What axe finds in the page: empty when nothing violates a rule. */
export const violationsOf = async (page: Page): Promise<string[]> => {
  // A frame is a page of its own.
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe);
  return page.evaluate(async () => {
    const { axe: checker } = globalThis as unknown as {
      axe: {
        run(root: Document, options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>;
      };
    };
    const { violations } = await checker.run(document, { iframes: false });
    return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
  });
};

/**
 * Checks a screen that is displayed: no violation in both themes, and nothing beside the window at
 * 390 pixels.
 */
export const expectAccessible = async (page: Page): Promise<void> => {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    expect(await violationsOf(page), colorScheme).toEqual([]);
  }
  const size = page.viewportSize()!;
  const isNarrow = size.width === 390;
  if (!isNarrow) await page.setViewportSize({ width: 390, height: 844 });
  const tooWide = await page.evaluate(() =>
    document.documentElement.scrollWidth <= window.innerWidth
      ? []
      : [...document.querySelectorAll('main *')]
          .filter((element) => element.getBoundingClientRect().right > window.innerWidth)
          .map((element) => element.outerHTML.slice(0, 100)),
  );
  expect(tooWide).toEqual([]);
  if (isNarrow) return;
  expect(await violationsOf(page), 'narrow').toEqual([]);
  await page.setViewportSize(size);
};

export interface AdministratorPage extends OpenedPage {
  /** Opens a screen and waits for its heading. */
  open(path: string, heading: string): Promise<void>;
}

/** Opens the console with a link of the server, so that it may administer. */
export const openAsAdministrator = async (browser: TestBrowser, server: Booted): Promise<AdministratorPage> => {
  const { page, watched } = await browser.open(inConsole);
  await page.goto(await server.consoleLink());
  await page.getByRole('navigation', { name: 'Screens' }).waitFor();
  return {
    page,
    watched,
    open: async (path, heading) => {
      await page.goto(`${server.url}/console${path}`);
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    },
  };
};
