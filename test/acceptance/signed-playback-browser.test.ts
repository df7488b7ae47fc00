import Mux from '@mux/mux-node';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { fixture } from '../support/media/fixtures.js';
import { useBrowser } from '../support/players/browser.js';
import { playAt, readFrames, type Watched } from '../support/players/chromium.js';
import { type Booted, boot } from '../support/servers/boot.js';
import type { Origin } from '../support/servers/origin.js';
import { createAsset, serveFiles, settled } from '../support/wire/create-asset.js';

let server: Booted;
let files: Origin;
let page: Page;
let watched: Watched;
let mux: Mux;
let signedId: string;

beforeAll(async () => {
  files = await serveFiles([await fixture('h264-aac.mp4')]);
  server = await boot();
  mux = new Mux({ baseURL: server.url, tokenId: server.token.id, tokenSecret: server.token.secret, maxRetries: 0 });
  const inputs = [{ url: `${files.url}/0` }];
  const { id } = await createAsset(server, { inputs, playback_policies: ['signed'], meta: { title: 'For members' } });
  const asset = await settled(server, id);
  expect(asset.errors).toBeUndefined();
  signedId = asset.playback_ids![0]!.id;
});
afterAll(async () => {
  await server?.stop();
  await files?.stop();
});
const browser = useBrowser();
beforeEach(async () => {
  ({ page, watched } = await browser.open());
});

const newToken = async (params: Record<string, string> = {}) => {
  const { id: keyId, private_key: keySecret } = await mux.system.signingKeys.create();
  return { keyId, token: await mux.jwt.signPlaybackId(signedId, { keyId, keySecret: keySecret!, params }) };
};
const noAccess = 'You do not have access to this video.';

test('the page of a signed id plays to its end with a token', async () => {
  const { token } = await newToken({ asset_start_time: '0' });
  await page.goto(`${server.url}/${signedId}?token=${token}`);
  expect(await page.title()).toBe('For members');
  await readFrames(page);
  await playAt(page, 2);
  await page.waitForFunction(() => document.querySelector('video')!.ended, undefined, { timeout: 120_000 });
  const frames = await page.evaluate(() => window.playedFrames);
  expect(frames.length).toBeGreaterThan(10);
  expect(watched.problems).toEqual([]);
  const segments = watched.requested.filter((url) => url.includes('.m4s') || url.includes('init.mp4'));
  expect(segments.length).toBeGreaterThan(3);
  expect(segments.filter((url) => !url.includes('signature='))).toEqual([]);
});

test('without a token, or with one whose key is gone, it says that there is no access', async () => {
  const { keyId, token } = await newToken();
  watched.expected = /403/;
  await mux.system.signingKeys.delete(keyId);
  for (const query of ['', `?token=${token}`]) {
    const response = await page.goto(`${server.url}/${signedId}${query}`);
    expect(response!.status()).toBe(403);
    await page.waitForSelector('#message:not([hidden])');
    expect(await page.textContent('#message')).toContain(noAccess);
    expect(await page.content()).not.toContain('For members');
  }
});

test('a restriction judges the page that the player runs on', async () => {
  const host = new URL(server.url).hostname;
  const create = (allowed_domains: string[]) =>
    mux.video.playbackRestrictions.create({
      // The page itself is opened without one.
      referrer: { allowed_domains, allow_no_referrer: true },
      user_agent: { allow_no_user_agent: false, allow_high_risk_user_agent: false },
    });
  const allowed = await newToken({ playback_restriction_id: (await create([host])).id });
  await page.goto(`${server.url}/${signedId}?token=${allowed.token}`);
  await page.waitForFunction(() => document.querySelector('video')!.currentTime > 0);
  expect(watched.problems).toEqual([]);

  watched.expected = /403/;
  const elsewhere = await newToken({ playback_restriction_id: (await create(['example.com'])).id });
  await page.goto(`${server.url}/${signedId}?token=${elsewhere.token}`);
  await page.waitForSelector('#message:not([hidden])');
  expect(await page.textContent('#message')).toContain(noAccess);
});
