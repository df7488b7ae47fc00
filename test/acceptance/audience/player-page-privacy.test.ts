/** What the player page reports of a viewer, and to whom. */
import { rm } from 'node:fs/promises';
import Mux from '@mux/mux-node';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { useBrowser } from '../../support/players/browser.js';
import { smallWindow } from '../../support/players/chromium.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { makeTestDataDir } from '../../support/servers/database.js';
import type { Origin } from '../../support/servers/origin.js';
import { serveNamed } from '../../support/servers/text-origin.js';
import { createAsset, settled } from '../../support/wire/create-asset.js';

let files: Origin;
let dataDir: string;
let server: Booted;
let assetId: string;
let playbackId: string;

beforeAll(async () => {
  files = await serveNamed({ 'long.mp4': { path: await fixture('long.mp4') } });
  dataDir = await makeTestDataDir();
  server = await boot({ dataDir });
  ({ id: assetId } = await createAsset(server, {
    inputs: [{ url: `${files.url}/long.mp4` }],
    playback_policies: ['public'],
    meta: { title: 'Harbor walk' },
  }));
  const asset = await settled(server, assetId);
  playbackId = asset.playback_ids![0]!.id!;
});
afterAll(async () => {
  await server?.stop();
  await files?.stop();
  await rm(dataDir, { recursive: true, force: true });
});
const browser = useBrowser();

interface Reporting {
  readonly page: Page;
  readonly requested: readonly string[];
  /** Bodies of reports. */
  readonly reports: string[];
}

/** `answer` is what reports get. */
const open = async (url: string, answer: 'accept' | 'break', prepare?: () => void): Promise<Reporting> => {
  const { page, watched } = await browser.open({ ...smallWindow, expected: /ERR_FAILED/ });
  const reports: string[] = [];
  await page.route(
    ({ pathname }) => pathname === '/',
    async (route) => {
      reports.push(route.request().postData() ?? '');
      await (answer === 'accept' ? route.continue() : route.abort());
    },
  );
  if (prepare) await page.addInitScript(prepare);
  await page.goto(url);
  return { page, requested: watched.requested, reports };
};

const untilPlayed = (page: Page, seconds: number) =>
  page.waitForFunction((to) => document.querySelector('video')!.currentTime > to, seconds);

test('a view is reported to the server of the page, without cookies', async () => {
  const { page, requested, reports } = await open(`${server.url}/${playbackId}?muted`, 'accept');
  await untilPlayed(page, 1);
  await expect.poll(() => reports.length).toBeGreaterThan(0);
  const { id: tokenId, secret: tokenSecret } = server.token;
  const mux = new Mux({ baseURL: server.url, tokenId, tokenSecret });
  const { environment_id } = await mux.system.utilities.whoami();
  const { events } = JSON.parse(reports[0]!) as { events: Record<string, unknown>[] };
  // The keys are those of mux-embed: env_key, event, video_id, video_title, video_stream_type.
  expect(events.find(({ e }) => e === 'viewstart')).toMatchObject({
    ake: environment_id,
    vid: playbackId,
    vtt: 'Harbor walk',
    vsmty: 'on-demand',
  });
  expect(await page.context().cookies()).toEqual([]);
  expect(requested.filter((url) => !url.startsWith(`${server.url}/`))).toEqual([]);
});

test.each<{ name: string; query?: string; prepare?: () => void }>([
  {
    name: 'Do Not Track',
    prepare: () => Object.defineProperty(Object.getPrototypeOf(navigator), 'doNotTrack', { get: () => '1' }),
  },
  {
    name: 'Global Privacy Control',
    prepare: () => Object.defineProperty(Object.getPrototypeOf(navigator), 'globalPrivacyControl', { get: () => true }),
  },
  { name: 'tracking=false', query: '&tracking=false' },
])('nothing is reported with $name, and nothing loaded for it', async ({ query, prepare }) => {
  const { page, requested, reports } = await open(`${server.url}/${playbackId}?muted${query ?? ''}`, 'accept', prepare);
  await untilPlayed(page, 1);
  // Leaving is when players send what is left.
  await page.goto('about:blank');
  expect(reports).toEqual([]);
  expect(requested.filter((url) => url.includes('/player/monitor-'))).toEqual([]);
  expect(await page.context().cookies()).toEqual([]);
});

test('the video plays on when reports fail', async () => {
  const { page, reports } = await open(`${server.url}/${playbackId}?muted`, 'break');
  await untilPlayed(page, 3);
  await expect.poll(() => reports.length).toBeGreaterThan(0);
  await untilPlayed(page, 6);
});

test('the video plays when what measures can not be loaded', async () => {
  const { page } = await browser.open({ ...smallWindow, expected: /ERR_FAILED/ });
  await page.route('**/player/monitor-*', (route) => route.abort());
  await page.goto(`${server.url}/${playbackId}?muted`);
  await untilPlayed(page, 2);
});

test('an operator can switch reports off', async () => {
  const readPage = async () =>
    (await fetch(`${server.url}/${playbackId}`, { headers: { accept: 'text/html' } })).text();
  expect(await readPage()).toMatch(/data-environment="\w+"/);
  const { token } = server;
  await server.stop();
  server = await boot({ dataDir, token, options: { PLAYER_TRACKING: 'false' } });
  expect(await readPage()).toContain('data-environment=""');
});
