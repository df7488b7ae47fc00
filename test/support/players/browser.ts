/**
 * The harness of the browser suites: one Chromium for a test file, and a fresh profile for each
 * page that a test opens.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeEach, expect, type TestContext } from 'vitest';
import { type ChromiumBuild, startChromium, type Watched, watch } from './chromium.js';

/** Where the pages of failed tests are shown. */
const SCREENSHOTS = fileURLToPath(new URL('../../../node_modules/.cache/kinora-screenshots/', import.meta.url));

export interface OpenedPage {
  readonly page: Page;
  readonly watched: Watched;
}

type OpenOptions = BrowserContextOptions & Pick<Watched, 'expected'>;

export class TestBrowser {
  /** Starts with the first page, so that files whose tests are all skipped start none. */
  #browser: Promise<Browser> | undefined;
  /** Those of the running test. */
  #opened: OpenedPage[] = [];
  /** Those of `beforeAll`, which all tests use. */
  readonly #lasting: OpenedPage[] = [];
  #isInTest = false;

  constructor(
    private readonly args: () => readonly string[] = () => [],
    private readonly build: ChromiumBuild = 'shell',
  ) {}

  /**
   * Opens an empty page in a profile of its own. It is closed after the test, or after all tests if
   * `beforeAll` opens it.
   */
  async open({ expected, ...options }: OpenOptions = {}): Promise<OpenedPage> {
    this.#browser ??= startChromium(this.args(), this.build);
    const context = await (await this.#browser).newContext(options);
    const page = await context.newPage();
    const opened = { page, watched: Object.assign(watch(page), { expected }) };
    (this.#isInTest ? this.#opened : this.#lasting).push(opened);
    return opened;
  }

  beginTest(): void {
    this.#isInTest = true;
  }

  /**
   * Closes the pages of a test. A failed test leaves screenshots; problems of its pages fail a test
   * that passed.
   */
  async endTest({ task }: Pick<TestContext, 'task'>): Promise<void> {
    const opened = this.#opened;
    this.#opened = [];
    this.#isInTest = false;
    const hasFailed = task.result?.state === 'fail';
    const problems = [...opened, ...this.#lasting].flatMap(unexpectedProblems);
    if (hasFailed || problems.length > 0) await takeScreenshots(task, [...opened, ...this.#lasting]);
    for (const { page } of opened) await page.context().close();
    if (!hasFailed) expect(problems.join('\n'), 'problems of the page').toBe('');
  }

  async stop(): Promise<void> {
    await (await this.#browser)?.close();
  }
}

const unexpectedProblems = ({ watched: { problems, expected } }: OpenedPage): string[] =>
  problems.filter((problem) => !expected?.test(problem));

const takeScreenshots = async (task: TestContext['task'], opened: readonly OpenedPage[]): Promise<void> => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  for (const [index, { page, watched }] of opened.entries()) {
    const name = `${task.file.name} ${task.name} ${index}`.replaceAll(/[^\w.]+/g, '-').slice(-150);
    const path = join(SCREENSHOTS, `${name}.png`);
    const isTaken = await page.screenshot({ path, timeout: 10_000 }).then(
      () => true,
      // A page that a test has closed.
      () => false,
    );
    if (isTaken) console.error(`${path} shows ${page.url()}. Problems: ${JSON.stringify(watched.problems)}`);
  }
};

/**
 * The browser of a test file. Call it below the `afterAll` of the file: hooks run in reverse, and
 * servers stop sooner when no page is connected.
 */
export const useBrowser = (args?: () => readonly string[], build?: ChromiumBuild): TestBrowser => {
  const browser = new TestBrowser(args, build);
  beforeEach(() => browser.beginTest());
  afterEach((context) => browser.endTest(context));
  afterAll(() => browser.stop());
  return browser;
};
