/** A headless Chromium with a fresh profile that talks to nobody but the page's own server. */
import { existsSync } from 'node:fs';
import { type Browser, chromium, type Page } from 'playwright-core';

const full = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
/** The build of Chromium without windows: a page costs less than half (test/README.md). */
const shell = '/usr/bin/chromium-headless-shell';

/** For pages with only a video: drawing takes half of the CPU time that it takes at 1280 × 720. */
export const smallWindow = { viewport: { width: 320, height: 180 } } as const;

/**
 * Makes `waitForFunction` check ten times a second. By default it checks in every frame, which
 * keeps an idle page drawing.
 */
const pollSlowly = (page: Page): void => {
  const waitForFunction = page.waitForFunction.bind(page) as (...args: unknown[]) => unknown;
  const slowly = (check: unknown, arg?: unknown, options?: object) =>
    waitForFunction(check, arg, { polling: 100, ...options });
  page.waitForFunction = slowly as Page['waitForFunction'];
};

/** `full` is the browser that users have. Without the shell, it is also used for `shell`. */
export type ChromiumBuild = 'shell' | 'full';

/** Test files start it with `useBrowser`. `more` are further arguments. */
export const startChromium = async (more: readonly string[], build: ChromiumBuild): Promise<Browser> => {
  const candidates = build === 'full' ? full : [shell, ...full];
  const executablePath = process.env.CHROMIUM_PATH ?? candidates.find((path) => existsSync(path));
  if (executablePath === undefined) throw new Error('Chromium is not installed; set CHROMIUM_PATH');
  const browser = await chromium.launch({
    executablePath,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--autoplay-policy=no-user-gesture-required',
      ...more,
    ],
  });
  const newContext = browser.newContext.bind(browser);
  // Of every wait; a busy machine shows a page late.
  browser.newContext = async (options) => {
    const context = await newContext(options);
    context.setDefaultTimeout(120_000);
    context.on('page', pollSlowly);
    return context;
  };
  return browser;
};

export interface Watched {
  /** Every address the page asked for, except those made by the page itself (`blob:`, `data:`). */
  readonly requested: string[];
  /** Error lines of the console, uncaught errors, answers of 400 and above. */
  readonly problems: string[];
  /** Problems that the test provokes or judges itself; any other one fails it. */
  expected?: RegExp;
}

/** Keeps what a page asks for and what goes wrong in it. */
export const watch = (page: Page): Watched => {
  const watched: Watched = { requested: [], problems: [] };
  page.on('request', (request) => {
    if (!/^(blob|data):/.test(request.url())) watched.requested.push(request.url());
  });
  page.on('response', (response) => {
    if (response.status() >= 400) watched.problems.push(`${response.status()} ${response.url()}`);
  });
  page.on('console', (line) => {
    if (line.type() === 'error') watched.problems.push(line.text());
  });
  page.on('pageerror', (error) => watched.problems.push(`uncaught ${error}`));
  return watched;
};

export interface PlayedFrame {
  /** Seconds of the presentation at which the browser displayed the frame. */
  readonly mediaSeconds: number;
  /** The 16-bit counter painted into the frame, -1 when it can't be read. */
  readonly counter: number;
}

declare global {
  interface Window {
    playedFrames: PlayedFrame[];
    stalls: number;
  }
}

/** Changes the speed of the page's video. */
export const playAt = (page: Page, rate: number): Promise<void> =>
  page.locator('video').evaluate((video: HTMLVideoElement, to) => {
    video.playbackRate = to;
  }, rate);

/**
 * Counts stalls in `window.stalls`: halts before a gap in the media. That a busy machine delivers
 * or decodes late is none.
 */
export const countStalls = (page: Page): Promise<void> =>
  page.locator('video').evaluate((video: HTMLVideoElement) => {
    window.stalls = 0;
    video.addEventListener('waiting', () => {
      const { buffered, currentTime } = video;
      const ranges = Array.from(
        { length: buffered.length },
        (_, at) => [buffered.start(at), buffered.end(at)] as const,
      );
      const isInside = ranges.some(([start, end]) => start <= currentTime && currentTime + 0.1 < end);
      const isMoreBehind = ranges.some(([start]) => start > currentTime);
      if (!video.seeking && !video.ended && !isInside && isMoreBehind) window.stalls++;
    });
  });

/**
 * Reads the painted counter of every frame that the page's video shows from now on, and counts
 * stalls.
 */
export const readFrames = async (page: Page): Promise<void> => {
  await countStalls(page);
  await page.locator('video').evaluate((video: HTMLVideoElement) => {
    window.playedFrames = [];
    const read = async () => {
      // The callback may come late, when the next frame is already displayed: the frame itself
      // tells its time.
      const frame = new VideoFrame(video);
      video.requestVideoFrameCallback(read);
      const { timestamp, visibleRect, format } = frame;
      if (format !== 'I420' && format !== 'NV12') throw new Error(`frames are ${format}`);
      const { x, y, width, height } = visibleRect!;
      const rowHeight = height / 24;
      // Only the luma of both rows: a whole frame costs as much as its decoding.
      const rect = { x, y, width: width & ~1, height: 2 * Math.ceil(rowHeight) };
      const pixels = new Uint8Array(frame.allocationSize({ rect }));
      const [luma] = await frame.copyTo(pixels, { rect });
      frame.close();
      const [above, below] = [0, 1].map((row) => luma!.offset + luma!.stride * Math.floor((row + 0.5) * rowHeight));
      let counter = 0;
      for (let bar = 0; bar < 16; bar++) {
        const column = Math.floor(((bar + 0.5) * width) / 16);
        const difference = pixels[above! + column]! - pixels[below! + column]!;
        counter = Math.abs(difference) < 60 || counter < 0 ? -1 : counter * 2 + (difference > 0 ? 1 : 0);
      }
      window.playedFrames.push({ mediaSeconds: timestamp / 1e6, counter });
    };
    video.requestVideoFrameCallback(read);
  });
};
