/** The console in Chromium, signed in as the administrator. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import type { Booted } from '../servers/boot.js';
import { startChromium, type Watched, watch } from './chromium.js';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export interface ConsolePage {
  readonly page: Page;
  readonly watched: Watched;
  /** Opens a screen and waits for its heading. */
  open(path: string, heading: string): Promise<void>;
  stop(): Promise<void>;
}

export const openConsole = async (server: Booted, options: BrowserContextOptions = {}): Promise<ConsolePage> => {
  const browser: Browser = await startChromium();
  const page = await (await browser.newContext(options)).newPage();
  const watched = watch(page);
  await page.goto(await server.consoleLink());
  await page.getByRole('navigation', { name: 'Screens' }).waitFor();
  return {
    page,
    watched,
    open: async (path, heading) => {
      await page.goto(`${server.url}/console${path}`);
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    },
    stop: () => browser.close(),
  };
};

/** What axe-core objects to in the page as it is displayed. */
const axeViolations = async (page: Page): Promise<string[]> => {
  // By the debugger, because the page's own policy allows no foreign script.
  await page.evaluate(axe);
  return page.evaluate(async () => {
    interface Found {
      readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[];
    }
    const { violations } = await (globalThis as unknown as { axe: { run(): Promise<Found> } }).axe.run();
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
  });
};

const sizes = { wide: { width: 1280, height: 800 }, narrow: { width: 390, height: 800 } };

/** Looks at a screen in both themes and widths: no violations, nothing wider than the window. Returns what it finds. */
export const lookAt = async (page: Page, name: string): Promise<string[]> => {
  const found: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const [width, size] of Object.entries(sizes)) {
      await page.setViewportSize(size);
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      for (const violation of await axeViolations(page)) found.push(`${name}, ${colorScheme}, ${width}: ${violation}`);
      const tooWide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      if (tooWide > 0) found.push(`${name}, ${colorScheme}, ${width}: ${tooWide} pixels too wide`);
      const folder = process.env.KINORA_TEST_SCREENSHOTS;
      if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}-${colorScheme}-${width}.png` });
    }
  }
  await page.setViewportSize(sizes.wide);
  return found;
};
