import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Mux from '@mux/mux-node';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fixture } from '../support/media/fixtures.js';
import { counterOf, readRgbFrames } from '../support/media/measure.js';
import { makeSpeech } from '../support/media/spoken-audio.mjs';
import { type OpenedPage, useBrowser } from '../support/players/browser.js';
import { playAt, readFrames } from '../support/players/chromium.js';
import { type Booted, boot } from '../support/servers/boot.js';
import type { Origin } from '../support/servers/origin.js';
import { serveNamed } from '../support/servers/text-origin.js';
import { startTlsProxy, type TlsProxy } from '../support/servers/tls-proxy.js';
import { createAsset, settled } from '../support/wire/create-asset.js';
import { recognized, textsOf } from '../support/wire/recognized.js';

/** The player knows only https addresses on `stream.` and `image.` of a domain. */
const DOMAIN = 'kinora.example';
const PAGES = `www.${DOMAIN}`;
// Some of these checks take a screenshot, which is expensive.
const PATIENTLY = { timeout: 120_000, interval: 250 };

let folder: string;
let server: Booted;
/** Screenshots stay there, to be looked at. */
const screenshots = join(tmpdir(), 'kinora-mux-player');
let files: Origin;
let proxy: TlsProxy;
let mux: Mux;
let assetId: string;
let publicId: string;
let signedId: string;

beforeAll(async () => {
  const cues = (text: string) => ({ text: `WEBVTT\n\n00:00:00.000 --> 00:00:20.000\n${text}\n` });
  files = await serveNamed({
    'long.mp4': { path: await fixture('long.mp4') },
    'second.flac': { path: await fixture('audio-only.flac') },
    'en.vtt': cues('Welcome aboard'),
    'de.vtt': cues('Willkommen an Bord'),
    'talk.wav': { text: makeSpeech(20, [{ startSeconds: 5, endSeconds: 8 }]) },
  });
  folder = mkdtempSync(join(tmpdir(), 'kinora-mux-player-speech-'));
  const recognizer = fileURLToPath(new URL('../support/processes/recognizer.mjs', import.meta.url));
  const command = `"${process.execPath}" ${recognizer} ${join(folder, 'calls')} json {audio}`;
  server = await boot({ options: { TRUSTED_PROXIES: '127.0.0.1', SPEECH_COMMAND: command } });
  mux = new Mux({ baseURL: server.url, tokenId: server.token.id, tokenSecret: server.token.secret, maxRetries: 0 });
  const text = { type: 'text', text_type: 'subtitles' };
  const { id } = await createAsset(server, {
    inputs: [
      { url: `${files.url}/long.mp4`, language_code: 'en', name: 'English' },
      { url: `${files.url}/en.vtt`, ...text, language_code: 'en', name: 'English' },
      { url: `${files.url}/de.vtt`, ...text, language_code: 'de', name: 'Deutsch' },
      { url: `${files.url}/second.flac`, type: 'audio', language_code: 'es', name: 'Español' },
    ],
    playback_policies: ['public', 'signed'],
    meta: { title: 'Harbor walk' },
  });
  assetId = id;
  const asset = await settled(server, id);
  expect(asset.errors).toBeUndefined();
  [publicId, signedId] = asset.playback_ids!.map((playbackId) => playbackId.id) as [string, string];
  const player = createRequire(import.meta.url)
    .resolve('@mux/mux-player')
    .replace(/[^/]+$/, 'mux-player.js');
  proxy = await startTlsProxy(server.url, {
    host: PAGES,
    files: { '/mux-player.js': player },
    page: (path) => {
      const attributes = new URLSearchParams(path.slice(path.indexOf('?') + 1));
      const written = [...attributes].map(([name, value]) => `${name}="${value}"`).join(' ');
      const tracking = attributes.has('tracked') ? '' : 'disable-tracking';
      return (
        '<!doctype html><style>body{margin:0}mux-player{width:960px;height:540px}</style>' +
        `<script src="/mux-player.js"></script><mux-player custom-domain="${DOMAIN}" ${tracking} muted ${written}></mux-player>`
      );
    },
  });
});
afterAll(async () => {
  await proxy?.stop();
  await server?.stop();
  await files?.stop();
  rmSync(folder, { recursive: true, force: true });
});
const browser = useBrowser(
  () => ['--ignore-certificate-errors', `--host-resolver-rules=MAP *.${DOMAIN} 127.0.0.1:${proxy.port}`],
  'full',
);

const open = async (attributes: Record<string, string>): Promise<OpenedPage> => {
  const { page, watched } = await browser.open({ ignoreHTTPSErrors: true, viewport: { width: 960, height: 540 } });
  // For a television nearby; nobody answers here.
  await page.route('https://www.gstatic.com/**', (route) => route.fulfill({ body: '' }));
  await page.goto(`https://${PAGES}/?${new URLSearchParams(attributes)}`);
  return { page, watched };
};

/** What the test asks the player for. */
interface MuxPlayer extends HTMLElement {
  currentTime: number;
  readonly duration: number;
  readonly ended: boolean;
  readonly media: { readonly error: { readonly message: string } | null };
  readonly textTracks: TextTrackList;
  readonly audioTracks: Iterable<{ readonly label: string; readonly language: string; readonly enabled: boolean }>;
  readonly metadata: Record<string, string>;
  play(): Promise<void>;
}
const inPlayer = <T>(page: Page, read: (player: MuxPlayer) => T): Promise<T> =>
  page.locator('mux-player').evaluate(read as (player: Element) => T) as Promise<T>;

/** What is shown of subtitles at this moment. */
const activeTexts = ({ textTracks }: MuxPlayer): string[] =>
  Array.from(textTracks)
    .filter(({ kind, mode }) => kind === 'subtitles' && mode === 'showing')
    .flatMap(({ activeCues }) => Array.from(activeCues ?? []).map((cue) => (cue as VTTCue).text));

/**
 * The counter in what a part of the page looks like. A white border hides as much of the frame at
 * its right and bottom.
 */
const counterSeen = async (page: Page, selector: string): Promise<number | undefined> => {
  const [seen] = readRgbFrames([await page.locator(selector).first().screenshot()]);
  const { width, height, rgb } = seen!;
  // Its corners are round.
  const areWhite = (pixels: readonly (readonly [x: number, y: number])[]): boolean =>
    pixels.filter(([x, y]) => rgb[(y * width + x) * 3]! > 235).length > pixels.length * 0.9;
  const within = (length: number, isBorder: (at: number) => boolean): [first: number, end: number] => {
    const inside = Array.from({ length }, (_, at) => at).filter((at) => !isBorder(at));
    return [inside[0] ?? 0, (inside.at(-1) ?? -1) + 1];
  };
  const rows = Array.from({ length: height }, (_, y) => y);
  const columns = Array.from({ length: width }, (_, x) => x);
  const [left, right] = within(width, (x) => areWhite(rows.map((y) => [x, y] as const)));
  const [top, bottom] = within(height, (y) => areWhite(columns.map((x) => [x, y] as const)));
  if (right - left < 100 || bottom - top < 50) return undefined;
  const uncovered = Buffer.alloc(rgb.length);
  for (const y of rows) {
    for (const x of columns) {
      const from = Math.min(top + y, bottom - 1) * width + Math.min(left + x, right - 1);
      rgb.copy(uncovered, (y * width + x) * 3, from * 3, from * 3 + 3);
    }
  }
  return counterOf({ width, height, rgb: uncovered });
};

const playToEnd = async (page: Page): Promise<void> => {
  await readFrames(page);
  await inPlayer(page, (player) => player.play());
  await playAt(page, 2);
  await page.waitForFunction(() => document.querySelector<MuxPlayer>('mux-player')!.ended);
  const counters = (await page.evaluate(() => window.playedFrames)).map(({ counter }) => counter);
  expect(counters.length).toBeGreaterThan(50);
  expect(counters).toEqual([...counters].sort((a, b) => a - b));
  expect(counters.at(-1)).toBeGreaterThan(580);
};

/**
 * Moves the pointer over the middle of the time bar; the tile of the storyboard that shows up is
 * the frame of that time.
 */
const expectPreview = async (page: Page): Promise<void> => {
  await page.mouse.move(480, 200);
  const bar = (await page.locator('media-time-range').first().boundingBox())!;
  await page.mouse.move(bar.x + bar.width / 2, bar.y + bar.height / 2, { steps: 5 });
  // 50 tiles of 20.01 s.
  await expect.poll(() => counterSeen(page, 'media-preview-thumbnail'), PATIENTLY).toBe(300);
};

test('mux-player sends data about viewers to Mux unless disable-tracking is set', async () => {
  const toMux = async (attributes: Record<string, string>): Promise<string[]> => {
    // What the scripts of Mux report about themselves here is not judged.
    const { page } = await browser.open({ ignoreHTTPSErrors: true, expected: /./ });
    const hosts: string[] = [];
    await page.route(/litix\.io/, (route) => {
      hosts.push(new URL(route.request().url()).hostname);
      return route.fulfill({ body: '' });
    });
    await page.route('https://www.gstatic.com/**', (route) => route.fulfill({ body: '' }));
    await page.goto(`https://${PAGES}/?${new URLSearchParams({ 'playback-id': publicId, ...attributes })}`);
    await inPlayer(page, (player) => player.play());
    await playAt(page, 2);
    // It sends the rest when the page is left.
    await page.goto('about:blank');
    if ('tracked' in attributes) await expect.poll(() => hosts, PATIENTLY).not.toEqual([]);
    return hosts;
  };
  expect(await toMux({ tracked: '' })).toContainEqual(expect.stringMatching(/litix\.io$/));
  expect(await toMux({})).toEqual([]);
});

test('mux-player plays a public id, with poster, previews and menus', async () => {
  const { page, watched } = await open({ 'playback-id': publicId });
  // The poster is the middle frame; the video under it stands at its first one.
  await expect.poll(() => counterSeen(page, 'mux-player'), PATIENTLY).toBe(300);
  await playToEnd(page);
  await expectPreview(page);
  expect(await inPlayer(page, (player) => player.metadata.title)).toBe('Harbor walk');

  const menu = async (name: string): Promise<string[]> => {
    await page.locator(`media-${name}-menu-button`).first().click();
    const items = page.locator(`media-${name}-menu media-chrome-menu-item`);
    await items.first().waitFor();
    // Behind the styles of its mark.
    return (await items.allTextContents()).map((text) => text.trim().split('\n').at(-1)!.trim());
  };
  const choose = (name: string, text: string) =>
    page.locator(`media-${name}-menu media-chrome-menu-item`, { hasText: text }).click();
  expect(await menu('captions')).toEqual(['Off', 'English', 'Deutsch']);
  await choose('captions', 'Deutsch');
  await inPlayer(page, (player) => {
    player.currentTime = 6;
  });
  await expect.poll(() => inPlayer(page, activeTexts), PATIENTLY).toEqual(['Willkommen an Bord']);
  expect(await menu('audio-track')).toEqual(['English', 'Español']);
  await choose('audio-track', 'Español');
  await expect
    .poll(
      () => inPlayer(page, ({ audioTracks }) => [...audioTracks].find(({ enabled }) => enabled)?.language),
      PATIENTLY,
    )
    .toBe('es');
  await expect.poll(() => watched.requested.some((url) => /\/audio-\w+\/\d+\.m4s/.test(url)), PATIENTLY).toBe(true);
  // For people to look at.
  await page.mouse.move(480, 200);
  await page.screenshot({ path: join(screenshots, 'public.png') });

  const asked = watched.requested
    .map((url) => new URL(url))
    .filter(({ host }) => host !== PAGES && host !== 'www.gstatic.com');
  expect(
    asked.every((url) => url.protocol === 'https:' && [`stream.${DOMAIN}`, `image.${DOMAIN}`].includes(url.host)),
  ).toBe(true);
  expect(asked.map(({ pathname }) => pathname)).toEqual(
    expect.arrayContaining([
      `/${publicId}.m3u8`,
      `/${publicId}/thumbnail.webp`,
      `/${publicId}/storyboard.vtt`,
      `/${publicId}/storyboard.webp`,
      `/${publicId}/metadata.json`,
    ]),
  );
});

test('mux-player plays a signed id with a token for each kind', async () => {
  const { id: keyId, private_key: keySecret } = await mux.system.signingKeys.create();
  const tokens = await mux.jwt.signPlaybackId(signedId, {
    keyId,
    keySecret: keySecret!,
    type: ['video', ['thumbnail', { time: '15' }], 'storyboard'],
  });
  const { page } = await open({ 'playback-id': signedId, ...(tokens as Record<string, string>) });
  await expect.poll(() => counterSeen(page, 'mux-player'), PATIENTLY).toBe(450);
  await playToEnd(page);
  await expectPreview(page);
  await page.screenshot({ path: join(screenshots, 'signed.png') });
});

test('mux-player shows generated subtitles', async () => {
  const { id } = await createAsset(server, {
    inputs: [
      { url: `${files.url}/long.mp4`, language_code: 'en', name: 'English' },
      {
        url: `${files.url}/talk.wav`,
        type: 'audio',
        language_code: 'fr',
        generated_subtitles: [{ language_code: 'auto' }],
      },
    ],
    playback_policies: ['public'],
  });
  const asset = await recognized(server, id);
  expect(textsOf(asset)).toMatchObject([{ status: 'ready', name: 'Auto-detected', language_code: 'fr' }]);
  const { page } = await open({ 'playback-id': asset.playback_ids![0]!.id });
  await expect
    .poll(
      () => inPlayer(page, ({ textTracks }) => Array.from(textTracks, ({ label, language }) => [label, language])),
      PATIENTLY,
    )
    .toContainEqual(['Auto-detected', 'fr']);
  await inPlayer(page, (player) => {
    for (const track of player.textTracks) if (track.label === 'Auto-detected') track.mode = 'showing';
    player.currentTime = 6;
  });
  await expect.poll(() => inPlayer(page, activeTexts), PATIENTLY).toEqual(['trois mots dits']);
});

test('mux-player says why it does not play', async () => {
  for (const [attributes, status, message] of [
    [{ 'playback-id': signedId }, 403, /Authorization error/],
    [{ 'playback-id': publicId.replace(/^./, (first) => (first === 'a' ? 'b' : 'a')) }, 404, /does not exist/],
  ] as const) {
    const { page, watched } = await open(attributes);
    watched.expected = /./;
    await expect.poll(() => inPlayer(page, ({ media }) => media.error?.message ?? ''), PATIENTLY).toMatch(message);
    expect(watched.problems.some((problem) => problem.startsWith(`${status} https://stream.`))).toBe(true);
  }
});

test('mux-player plays a clip without a title', async () => {
  const { id } = await createAsset(server, {
    inputs: [{ url: `mux://assets/${assetId}`, start_time: 5, end_time: 9 }],
    playback_policies: ['public'],
  });
  const asset = await settled(server, id);
  const { page } = await open({ 'playback-id': asset.playback_ids![0]!.id });
  await expect.poll(() => counterSeen(page, 'mux-player'), PATIENTLY).toBe(210);
  await inPlayer(page, (player) => player.play());
  await page.waitForFunction(() => document.querySelector<MuxPlayer>('mux-player')!.ended);
  expect(Math.abs((await inPlayer(page, ({ duration }) => duration)) - 4)).toBeLessThan(0.05);
});
