/**
 * The page of a playback ID: its controls, keys and settings, in a page of its own and in a frame.
 */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import Mux from '@mux/mux-node';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fixture } from '../support/media/fixtures.js';
import { type TestBrowser, useBrowser } from '../support/players/browser.js';
import type { Watched } from '../support/players/chromium.js';
import { inSeconds, signToken } from '../support/players/playback-token.js';
import { type Booted, boot } from '../support/servers/boot.js';
import { type Origin, startOrigin } from '../support/servers/origin.js';
import { serveNamed } from '../support/servers/text-origin.js';
import { createAsset, settled } from '../support/wire/create-asset.js';
import { withTracks } from '../support/wire/tracks.js';

const CAPTION = 'Hello there';
const TITLE = `Pier & "gulls" <script>alert(1)</script>`;
const require = createRequire(import.meta.url);

let server: Booted;
let files: Origin;
let outside: Origin;
let mux: Mux;
let assetId: string;
let publicId: string;
let page: Page;
let watched: Watched;
/** The page that the site outside sends. */
let outsidePage = '';

beforeAll(async () => {
  const captions = 'WEBVTT\n\n00:00.000 --> 00:19.000\nHello <b>there</b> <img src="x" onerror="alert(1)">\n';
  files = await serveNamed({
    'long.mp4': { path: await fixture('long.mp4') },
    'french.wav': { path: await fixture('loudness.wav') },
    'en.vtt': { text: captions },
  });
  outside = await startOrigin((_, response) => {
    response.setHeader('content-type', 'text/html').end(outsidePage);
  });
  server = await boot();
  mux = new Mux({ baseURL: server.url, tokenId: server.token.id, tokenSecret: server.token.secret, maxRetries: 0 });
  const inputs = [
    { url: `${files.url}/long.mp4`, name: 'Main' },
    { url: `${files.url}/en.vtt`, type: 'text', text_type: 'subtitles', language_code: 'en' },
    { url: `${files.url}/french.wav`, type: 'audio', language_code: 'fr' },
  ];
  const { id } = await createAsset(server, { inputs, playback_policies: ['public'], meta: { title: TITLE } });
  const asset = await withTracks(server, await settled(server, id));
  expect(asset.errors).toBeUndefined();
  assetId = id;
  publicId = asset.playback_ids![0]!.id;
});
afterAll(async () => {
  await server?.stop();
  await outside?.stop();
  await files?.stop();
});
const browser = useBrowser();

/**
 * Opens a page in a new context; every one must ask this server only and break no rule of its
 * policy.
 */
const newPage = async (url: string, options: Parameters<TestBrowser['open']>[0] = {}): Promise<void> => {
  ({ page, watched } = await browser.open(options));
  await page.goto(url);
};
const untilPreview = async (): Promise<void> => {
  await page.locator('#preview').waitFor();
  const image = () => page.locator('#preview-image').evaluate((of) => getComputedStyle(of).backgroundImage);
  await expect.poll(image).toMatch(/^url\(.*\/storyboard\.jpg/);
  await expect.poll(() => watched.requested.filter((url) => url.includes('/storyboard.jpg')).length).toBe(1);
};
const expectOwn = (): void => {
  expect(watched.problems).toEqual([]);
  expect([...new Set(watched.requested.map((url) => new URL(url).origin))]).toEqual([new URL(server.url).origin]);
};
const open = async (query = '', id = publicId): Promise<void> => {
  await newPage(`${server.url}/${id}${query}`);
  await page.waitForFunction(() => document.querySelector('video')!.readyState >= HTMLMediaElement.HAVE_FUTURE_DATA);
};
/** A paused video whose controls stay visible. */
const openPaused = (query = 'autoplay=false'): Promise<void> => open(`?${query}`);
const video = <T>(read: (of: HTMLVideoElement) => T): Promise<T> => page.locator('video').evaluate(read);
const untilVideo = <A>(is: (of: HTMLVideoElement, arg: A) => boolean, arg?: A): Promise<void> =>
  expect.poll(() => page.locator('video').evaluate(is, arg as never), { message: `${is}` }).toBe(true);
const untilFullscreen = (isFull: boolean): Promise<unknown> =>
  page.waitForFunction((wanted) => (document.fullscreenElement !== null) === wanted, isFull);
/** Opens the settings, chooses, and closes them. */
const choose = async (menu: string, choice: string): Promise<void> => {
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.locator('#menu').getByLabel(menu).selectOption({ label: choice });
  await page.keyboard.press('Escape');
};
const choicesOf = (menu: string): Promise<string[]> =>
  page.locator('#menu').getByLabel(menu).locator('option').allTextContents();
/** The texts that the browser displays over the video. */
const displayed = (): Promise<string[]> =>
  video((of) =>
    [...of.textTracks]
      .filter(({ mode }) => mode === 'showing')
      .flatMap(({ activeCues }) =>
        [...(activeCues ?? [])].map((cue) => (cue as VTTCue).getCueAsHTML().textContent ?? ''),
      ),
  );
const untilDisplayed = (texts: readonly string[]): Promise<void> => expect.poll(displayed).toEqual(texts);
/** The violations that axe-core finds in the page. */
const violations = async (): Promise<string[]> => {
  // As a script of the browser, not of the page, whose policy would refuse it.
  await page.evaluate(await readFile(require.resolve('axe-core/axe.min.js'), 'utf8'));
  const found = (await page.evaluate('axe.run()')) as { violations: { id: string; nodes: { html: string }[] }[] };
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
};

test('menus choose subtitles, audio and speed', async () => {
  await openPaused('autoplay=false&muted');
  // Browsers display subtitles once the video has played.
  await page.keyboard.press('k');
  await untilVideo((of) => of.currentTime > 0);
  await page.keyboard.press('k');
  expect(await choicesOf('Captions')).toEqual(['Off', 'English']);
  await choose('Captions', 'English');
  await untilDisplayed([CAPTION]);
  await choose('Captions', 'Off');
  await untilDisplayed([]);
  await page.getByRole('button', { name: 'Captions', pressed: false }).click();
  await untilDisplayed([CAPTION]);
  await page.getByRole('button', { name: 'Captions', pressed: true }).click();
  await untilDisplayed([]);

  expect(await choicesOf('Audio')).toEqual(['Main', 'French']);
  const audioRequests = () => watched.requested.filter((url) => url.includes('/audio')).length;
  const before = audioRequests();
  await choose('Audio', 'French');
  await expect.poll(audioRequests).toBeGreaterThan(before);
  await expect.poll(() => page.locator('#menu').getByLabel('Audio').inputValue()).toBe('1');

  await choose('Speed', '1.25×');
  await untilVideo((of) => of.playbackRate === 1.25);
  expectOwn();
});

test('subtitles are above the controls, also in a narrow window', async () => {
  await newPage(`${server.url}/${publicId}?autoplay=false&muted`, { viewport: { width: 390, height: 844 } });
  await untilVideo((of) => of.readyState >= HTMLMediaElement.HAVE_FUTURE_DATA);
  await page.keyboard.press('k');
  await untilVideo((of) => of.currentTime > 0);
  await page.keyboard.press('k');
  await untilVideo((of) => of.paused);
  const slider = (await page.locator('#seek').boundingBox())!;
  const above = { ...slider, y: slider.y - 100, height: 100 };
  const screenshots = async () => {
    await page.waitForTimeout(500);
    return Promise.all([slider, above].map((clip) => page.screenshot({ clip })));
  };
  const without = await screenshots();
  await page.keyboard.press('c');
  await untilDisplayed([CAPTION]);
  const withCaption = await screenshots();
  expect(withCaption[1]!.equals(without[1]!)).toBe(false);
  expect(withCaption[0]!.equals(without[0]!)).toBe(true);
});

test('buttons play, mute, fill the screen and show the picture in picture', async () => {
  await openPaused();
  await page.getByRole('button', { name: 'Start the video' }).click();
  await untilVideo((of) => !of.paused && of.currentTime > 0);
  await page.getByRole('button', { name: 'Pause' }).click();
  await untilVideo((of) => of.paused);
  await page.getByRole('button', { name: 'Play' }).click();
  await untilVideo((of) => !of.paused);
  await page.locator('video').click({ position: { x: 50, y: 50 } });
  await untilVideo((of) => of.paused);
  await page.getByRole('button', { name: 'Mute', pressed: false }).click();
  await untilVideo((of) => of.muted);
  await page.getByRole('button', { name: 'Mute', pressed: true }).click();
  await untilVideo((of) => !of.muted);
  await page.getByRole('slider', { name: 'Volume' }).fill('0.5');
  await untilVideo((of) => of.volume === 0.5);
  await page.getByRole('slider', { name: 'Seek' }).fill('7.5');
  await untilVideo((of) => Math.abs(of.currentTime - 7.5) < 0.1);
  await page.getByText('0:07 / 0:20').waitFor();
  await page.getByRole('button', { name: 'Forward 10 seconds' }).click();
  await untilVideo((of) => Math.abs(of.currentTime - 17.5) < 0.2);
  await page.getByRole('button', { name: 'Back 10 seconds' }).click();
  await untilVideo((of) => Math.abs(of.currentTime - 7.5) < 0.2);
  await page.getByRole('button', { name: 'Full screen', pressed: false }).click();
  await untilFullscreen(true);
  await page.getByRole('button', { name: 'Full screen', pressed: true }).click();
  await untilFullscreen(false);
  expect(await page.getByRole('button', { name: 'AirPlay' }).isVisible()).toBe(false);
  expect(await page.getByRole('button', { name: 'Picture in picture' }).isVisible()).toBe(
    await page.evaluate(() => document.pictureInPictureEnabled),
  );
  expectOwn();
});

test('the button and the key open the picture in picture and close it', async () => {
  await openPaused();
  // Without a screen the browser has no such window.
  await page.evaluate(() => {
    const calls: string[] = [];
    Object.assign(window, { calls });
    let shown: Element | null = null;
    Object.defineProperty(document, 'pictureInPictureElement', { get: () => shown });
    HTMLVideoElement.prototype.requestPictureInPicture = async function (this: HTMLVideoElement) {
      calls.push(`open ${this.tagName}`);
      shown = this;
      return {} as PictureInPictureWindow;
    };
    document.exitPictureInPicture = async () => {
      calls.push('close');
      shown = null;
    };
  });
  const calls = () => page.evaluate('window.calls');
  await page.keyboard.press('i');
  await expect.poll(calls).toEqual(['open VIDEO']);
  await page.keyboard.press('i');
  await expect.poll(calls).toEqual(['open VIDEO', 'close']);
  // Hidden where the browser has none; what it does is the same.
  await page.locator('#pip').evaluate((button) => {
    (button as HTMLElement).hidden = false;
  });
  await page.getByRole('button', { name: 'Picture in picture' }).click();
  await expect.poll(calls).toEqual(['open VIDEO', 'close', 'open VIDEO']);
  expectOwn();
});

test('AirPlay appears while there is a device, and asks for it', async () => {
  ({ page, watched } = await browser.open());
  // What Safari has; here before the page's own scripts.
  await page.addInitScript(() => {
    Object.assign(HTMLVideoElement.prototype, {
      webkitShowPlaybackTargetPicker(this: HTMLVideoElement) {
        Object.assign(window, { pickedFor: this.tagName });
      },
    });
  });
  await page.goto(`${server.url}/${publicId}?autoplay=false`);
  await untilVideo((of) => of.readyState >= HTMLMediaElement.HAVE_FUTURE_DATA);
  const button = page.getByRole('button', { name: 'AirPlay' });
  const tell = (availability: string) =>
    page.locator('video').evaluate((of, value) => {
      of.dispatchEvent(Object.assign(new Event('webkitplaybacktargetavailabilitychanged'), { availability: value }));
    }, availability);
  expect(await button.isVisible()).toBe(false);
  await tell('available');
  await button.click();
  expect(await page.evaluate('window.pickedFor')).toBe('VIDEO');
  await tell('not-available');
  await button.waitFor({ state: 'hidden' });
  expectOwn();
});

test('with ?loop the video starts again, without it it stops', async () => {
  for (const [query, endsAt] of [
    ['?muted&loop&t=18', 'start'],
    ['?muted&t=18', 'end'],
  ] as const) {
    await open(query);
    await untilVideo((of) => of.currentTime >= 18);
    if (endsAt === 'start') {
      await untilVideo((of) => !of.paused && of.currentTime > 0.5 && of.currentTime < 15);
      expect(await video((of) => of.ended)).toBe(false);
    } else await untilVideo((of) => of.ended && of.paused && of.currentTime > 19);
    expectOwn();
    await page.context().close();
  }
});

test('the policy of the page allows no inline script, and none is in it', async () => {
  for (const path of [publicId, 'x'.repeat(40)]) {
    const response = await fetch(`${server.url}/${path}`, { headers: { accept: 'text/html' } });
    const policy = response.headers.get('content-security-policy')!;
    const rules = Object.fromEntries(policy.split(/; */).map((rule) => [rule.split(' ')[0], rule.split(' ').slice(1)]));
    const script = rules['script-src'] ?? rules['default-src'];
    expect(script, path).toEqual(["'self'"]);
    expect(rules['default-src'], path).toEqual(["'none'"]);
    expect(policy, path).not.toMatch(/unsafe-(inline|eval|hashes)|nonce-/);
    // JSON is data, which no policy runs.
    for (const [, attributes, text] of (await response.text()).matchAll(/<script([^>]*)>(.*?)<\/script>/gs))
      if (!/type="application\//.test(attributes!))
        expect([/src="\//.test(attributes!), text], path).toEqual([true, '']);
  }
});

test('controls disappear while the video plays, and come back', async () => {
  await open('?muted&loop');
  const opacity = () => page.locator('#controls').evaluate((of) => getComputedStyle(of).opacity);
  await expect.poll(opacity).toBe('0');
  await page.mouse.move(200, 200);
  await page.mouse.move(210, 210);
  await expect.poll(opacity).toBe('1');
  expectOwn();
});

test('keys do what they do on other players', async () => {
  await openPaused('autoplay=false&muted');
  for (const key of ['k', ' ']) {
    await page.keyboard.press(key);
    await untilVideo((of) => !of.paused);
    await page.keyboard.press(key);
    await untilVideo((of) => of.paused);
  }
  const at = async (key: string, seconds: number) => {
    await page.keyboard.press(key);
    await untilVideo((of, to) => !of.seeking && Math.abs(of.currentTime - to) < 0.2, seconds);
  };
  await at('3', 6);
  await at('l', 16);
  await at('j', 6);
  await at('ArrowRight', 11);
  await at('ArrowLeft', 6);
  await at('9', 18);
  await at('0', 0);
  await page.keyboard.press('m');
  await untilVideo((of) => !of.muted);
  await page.keyboard.press('ArrowDown');
  await untilVideo((of) => of.volume === 0.95);
  await page.keyboard.press('ArrowUp');
  await untilVideo((of) => of.volume === 1);
  // Muting keeps the volume, and the first step up brings it back.
  await page.getByRole('slider', { name: 'Volume' }).fill('0.4');
  await page.keyboard.press('m');
  await page.keyboard.press('ArrowUp');
  await untilVideo((of) => !of.muted && of.volume === 0.4);
  await page.getByRole('slider', { name: 'Volume' }).fill('0');
  await untilVideo((of) => of.muted);
  await page.keyboard.press('m');
  await untilVideo((of) => !of.muted && of.volume === 0.4);
  await page.getByRole('slider', { name: 'Volume' }).blur();
  await page.keyboard.press('>');
  await untilVideo((of) => of.playbackRate === 1.25);
  await page.keyboard.press('<');
  await untilVideo((of) => of.playbackRate === 1);
  await at('Shift+ArrowRight', 10);
  await at('0', 0);
  await page.keyboard.press('c');
  await untilDisplayed([CAPTION]);
  await page.keyboard.press('f');
  await untilFullscreen(true);
  await page.keyboard.press('f');
  await untilFullscreen(false);
  expectOwn();
});

test('a title stands over the video, and ? lists the keys', async () => {
  await openPaused();
  const heading = page.getByRole('heading', { level: 1, name: TITLE });
  expect((await heading.boundingBox())!.height).toBeGreaterThan(20);
  const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await page.keyboard.press('?');
  await help.getByText('Back or forward 10 seconds').waitFor();
  expect(await violations()).toEqual([]);
  await page.keyboard.press('?');
  await help.waitFor({ state: 'hidden' });
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByRole('button', { name: 'Keyboard shortcuts' }).click();
  await help.waitFor();
  await page.keyboard.press('Escape');
  await help.waitFor({ state: 'hidden' });
  expectOwn();
});

test('the time stands alone over the slider until its frame has been loaded', async () => {
  await openPaused();
  let send = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    send = resolve;
  });
  await page.route('**/storyboard.jpg*', async (route) => {
    await held;
    await route.continue();
  });
  const asked = page.waitForRequest('**/storyboard.jpg*');
  await page.getByRole('slider', { name: 'Seek' }).hover({ position: { x: 400, y: 20 } });
  await asked;
  const preview = page.locator('#preview');
  expect(await preview.textContent()).toMatch(/\d:\d\d/);
  expect((await preview.boundingBox())!.height).toBeLessThan(40);
  send();
  await expect.poll(async () => (await preview.boundingBox())!.height).toBeGreaterThan(60);
});

test('a page that is refused says why', async () => {
  const { id } = await mux.video.assets.createPlaybackId(assetId, { policy: 'signed' });
  const { id: keyId, private_key: keySecret } = await mux.system.signingKeys.create();
  const sign = (sub: string, seconds: number) =>
    signToken({ keyId, keySecret: keySecret! }, { kid: keyId, sub, aud: 'v', exp: inSeconds(seconds) });
  for (const [query, sentence] of [
    ['', /only be watched with a signed link/],
    [`?token=${sign(id, -60)}`, /has expired/],
    [`?token=${sign(publicId, 60)}`, /was made for another video/],
    ['?token=x.y.z', /is not valid/],
  ] as const) {
    await newPage(`${server.url}/${id}${query}`, { expected: /40\d/ });
    await page.locator('#message').getByText(sentence).waitFor();
    expect(await violations()).toEqual([]);
    await page.context().close();
  }
});

test('the query sets start, sound, repetition and poster', async () => {
  await open('?t=12.5&muted&loop');
  await untilVideo((of) => !of.paused && of.currentTime >= 12.5 && of.currentTime < 16);
  expect(await video((of) => [of.muted, of.loop, of.poster])).toEqual([true, true, '']);
  expectOwn();
  await page.context().close();

  const poster = `/${publicId}/thumbnail.jpg?time=2&width=320`;
  await open(`?autoplay=0&poster=${encodeURIComponent(poster)}`);
  expect(await video((of) => [of.paused, of.muted, of.loop, of.poster])).toEqual([
    true,
    false,
    false,
    `${server.url}${poster}`,
  ]);
  await expect.poll(() => watched.requested).toContain(`${server.url}${poster}`);
  expectOwn();
  await page.context().close();

  await open('?autoplay=false&poster=https://elsewhere.example/pixel.gif&t=no&loop=false');
  expect(await video((of) => [of.currentTime, of.loop, of.poster])).toEqual([
    0,
    false,
    `${server.url}/${publicId}/thumbnail.webp`,
  ]);
  expectOwn();
});

test('previews appear over the time slider, and are not made before', async () => {
  await openPaused();
  const storyboards = () => watched.requested.filter((url) => url.includes('/storyboard.'));
  expect(storyboards()).toEqual([]);
  await page.getByRole('slider', { name: 'Seek' }).hover({ position: { x: 400, y: 20 } });
  await untilPreview();
  expect(storyboards().map((url) => new URL(url).pathname.split('.').at(-1))).toEqual(['vtt', 'jpg']);
  expectOwn();
});

test('a frame of 560 x 315 is filled by the video, which waits for its viewer', async () => {
  outsidePage = `<!doctype html><html lang="en"><title>Outside</title><iframe src="${server.url}/${publicId}" width="560" height="315" frameborder="0" allow="autoplay; fullscreen"></iframe>`;
  await newPage(outside.url);
  const frame = page.frameLocator('iframe');
  await frame.getByRole('button', { name: 'Start the video' }).waitFor();
  const shown = await frame.locator('video').evaluate((of: HTMLVideoElement) => {
    const { x, y, width, height } = of.getBoundingClientRect();
    const { scrollWidth, scrollHeight } = document.documentElement;
    const proportions = of.videoWidth / of.videoHeight;
    return { box: [x, y, width, height], page: [scrollWidth, scrollHeight], proportions, isPaused: of.paused };
  });
  expect(shown).toEqual({ box: [0, 0, 560, 315], page: [560, 315], proportions: 16 / 9, isPaused: true });
  expect(watched.requested.some((url) => url.endsWith('/thumbnail.webp'))).toBe(true);
  await frame.getByRole('button', { name: 'Start the video' }).click();
  await frame.locator('#player.playing').waitFor();
});

test.each([
  ['wide', { width: 1280, height: 720 }],
  ['narrow', { width: 390, height: 700 }],
])('axe-core finds nothing on a %s screen, and the keyboard reaches every control', async (_, viewport) => {
  await newPage(`${server.url}/${publicId}?autoplay=false`, { viewport });
  await page.getByRole('button', { name: 'Start the video' }).waitFor();
  expect(await violations()).toEqual([]);
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByLabel('Speed').waitFor();
  expect(await violations()).toEqual([]);
  await page.keyboard.press('Escape');
  const reached = new Set<string>();
  for (let presses = 0; presses < 12; presses++) {
    await page.keyboard.press('Tab');
    reached.add(await page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? ''));
  }
  expect([...reached]).toEqual(expect.arrayContaining(['Play', 'Seek', 'Mute', 'Captions', 'Settings', 'Full screen']));
  await newPage(`${server.url}/${'x'.repeat(40)}`, { viewport, expected: /404/ });
  await page.getByText('This video does not exist.').waitFor();
  expect(await violations()).toEqual([]);
});

test('signed playback takes a token for each of video, thumbnail and storyboard', async () => {
  const { id } = await mux.video.assets.createPlaybackId(assetId, { policy: 'signed' });
  const { id: keyId, private_key: keySecret } = await mux.system.signingKeys.create();
  const sign = (type: 'video' | 'thumbnail' | 'storyboard') =>
    mux.jwt.signPlaybackId(id, { keyId, keySecret: keySecret!, type });
  const [token, thumbnail, storyboard] = await Promise.all([sign('video'), sign('thumbnail'), sign('storyboard')]);
  const query = `?playback-token=${token}&thumbnail-token=${thumbnail}&storyboard-token=${storyboard}&autoplay=false`;
  await open(query, id);
  await page.getByRole('slider', { name: 'Seek' }).hover({ position: { x: 400, y: 20 } });
  await untilPreview();
  expect(watched.requested.some((url) => url === `${server.url}/${id}/thumbnail.webp?token=${thumbnail}`)).toBe(true);
  expectOwn();

  const oembed = (search: string) =>
    fetch(`${server.url}/oembed?url=${encodeURIComponent(`${server.url}/${id}${search}`)}`);
  expect((await oembed('')).status).toBe(401);
  const response = await oembed(query);
  expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'private, no-cache']);
  const { thumbnail_url: url, html } = (await response.json()) as Record<string, string>;
  expect((await fetch(url!)).headers.get('content-type')).toBe('image/jpeg');
  expect(html).toContain(token);
});

test('cards and oEmbed describe the video to other sites', async () => {
  const address = `${server.url}/${publicId}`;
  const html = await (await fetch(address, { headers: { accept: 'text/html' } })).text();
  expect(html).not.toContain('<script>alert');
  outsidePage = html.replace(/<script.*?<\/script>/g, '');
  await newPage(outside.url);
  const tags = await page.evaluate(() =>
    Object.fromEntries(
      [...document.querySelectorAll('meta[content]')].map((tag) => [
        tag.getAttribute('property') ?? tag.getAttribute('name'),
        tag.getAttribute('content'),
      ]),
    ),
  );
  expect(await page.title()).toBe(TITLE);
  expect(tags).toMatchObject({
    'og:type': 'video.other',
    'og:title': TITLE,
    'og:url': address,
    'og:image': `${address}/thumbnail.jpg?width=640`,
    'og:video': address,
    'og:video:type': 'text/html',
    'twitter:card': 'player',
    'twitter:title': TITLE,
    'twitter:player': address,
    'twitter:player:width': tags['og:video:width'],
  });
  const image = await fetch(tags['og:image']!);
  expect(image.headers.get('content-type')).toBe('image/jpeg');

  const links = await page.$$eval('link[rel=alternate]', (all) =>
    all.map((link) => [link.getAttribute('type')!, link.getAttribute('href')!] as const),
  );
  expect(links.map(([type]) => type)).toEqual(['application/json+oembed', 'text/xml+oembed']);
  const [json, xml] = await Promise.all(links.map(([, url]) => fetch(url)));
  expect(json!.headers.get('content-type')).toBe('application/json; charset=utf-8');
  const response = (await json!.json()) as Record<string, string | number>;
  expect(response).toMatchObject({
    type: 'video',
    version: '1.0',
    title: TITLE,
    provider_url: `${server.url}/`,
    width: 640,
    height: 360,
    thumbnail_url: tags['og:image'],
    thumbnail_width: 640,
    thumbnail_height: 360,
  });
  expect(xml!.headers.get('content-type')).toBe('text/xml; charset=utf-8');
  const fields = await page.evaluate(
    (text) => {
      const root = new DOMParser().parseFromString(text, 'text/xml').documentElement;
      return [
        root.nodeName,
        Object.fromEntries([...root.children].map((child) => [child.nodeName, child.textContent])),
      ];
    },
    await xml!.text(),
  );
  expect(fields).toEqual([
    'oembed',
    Object.fromEntries(Object.entries(response).map(([name, value]) => [name, String(value)])),
  ]);
  outsidePage = `<!doctype html>${response.html}`;
  await page.goto(outside.url);
  await page.frameLocator('iframe').locator('video').waitFor();
});

test.each([
  ['', 200, { width: 640, height: 360 }],
  ['&maxwidth=320', 200, { width: 320, height: 180 }],
  ['&maxheight=90', 200, { width: 160, height: 90 }],
  ['&maxwidth=4000&maxheight=4000', 200, { width: 640, height: 360 }],
  ['&maxwidth=0', 400, undefined],
  ['&format=yaml', 501, undefined],
])('oEmbed with %j', async (query, status, size) => {
  const response = await fetch(`${server.url}/oembed?url=${server.url}/${publicId}${query}`);
  expect(response.status).toBe(status);
  if (size) expect(await response.json()).toMatchObject(size);
});

test.each(['', 'no URL', 'https://elsewhere.example/x', 'javascript:alert(1)', '/'])(
  'oEmbed knows nothing of %j',
  async (url) => {
    expect((await fetch(`${server.url}/oembed?url=${encodeURIComponent(url)}`)).status).toBe(404);
  },
);
