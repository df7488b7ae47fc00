import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fixture } from '../support/media/fixtures.js';
import { useBrowser } from '../support/players/browser.js';
import { countStalls, smallWindow } from '../support/players/chromium.js';
import { servePage } from '../support/players/page-site.js';
import { listenToTones, untilTone } from '../support/players/video-page.js';
import { type Booted, boot } from '../support/servers/boot.js';
import type { Origin } from '../support/servers/origin.js';
import { createAsset, serveFiles, settled } from '../support/wire/create-asset.js';
import { withTracks } from '../support/wire/tracks.js';

let server: Booted;
let files: Origin;
let site: Origin;
beforeAll(async () => {
  // Tones of 400 and 600 Hz beside one of 1,000 Hz.
  files = await serveFiles([await fixture('long.mp4'), await fixture('loudness.wav')]);
  server = await boot();
  site = await servePage('<!doctype html><video></video><script src="/hls.js"></script>', {
    '/hls.js': 'hls.js/dist/hls.min.js',
  });
});
afterAll(async () => {
  await server?.stop();
  await files?.stop();
  await site?.stop();
});
const browser = useBrowser();

declare global {
  interface Window {
    Hls: new () => HlsPlayer;
    hls: HlsPlayer;
    /** Position of the video at each of its time updates. */
    positions: number[];
    /** Jumps, of the player too. */
    seeks: number;
  }
}
interface HlsPlayer {
  audioTrack: number;
  readonly audioTracks: readonly { readonly name: string; readonly lang?: string; readonly default: boolean }[];
  loadSource(url: string): void;
  attachMedia(video: HTMLVideoElement): void;
}

const start = (page: Page, source: string): Promise<void> =>
  page.evaluate(async (address) => {
    const video = document.querySelector('video')!;
    window.positions = [];
    window.seeks = 0;
    const hls = new window.Hls();
    window.hls = hls;
    hls.loadSource(address);
    hls.attachMedia(video);
    video.addEventListener('timeupdate', () => window.positions.push(video.currentTime));
    await video.play();
    video.addEventListener('seeking', () => {
      window.seeks++;
    });
  }, source);

test('another language is chosen while the video plays on', async () => {
  const inputs = [
    { url: `${files.url}/0`, name: 'Main' },
    { url: `${files.url}/1`, type: 'audio', language_code: 'fr' },
  ];
  const { id } = await createAsset(server, { inputs, playback_policies: ['public'] });
  const asset = await withTracks(server, await settled(server, id));
  const { page } = await browser.open(smallWindow);
  await page.goto(site.url);
  await listenToTones(page);
  await start(page, `${server.url}/${asset.playback_ids![0]!.id}.m3u8`);
  await countStalls(page);
  await page.waitForFunction(() => document.querySelector('video')!.currentTime > 1);
  const tracks = await page.evaluate(() =>
    window.hls.audioTracks.map(({ name, lang, default: isDefault }) => [name, lang, isDefault]),
  );
  expect(tracks).toEqual([
    ['Main', 'und', true],
    ['French', 'fr', false],
  ]);
  await untilTone(page, [400, 600]);
  await page.evaluate(() => {
    window.hls.audioTrack = 1;
  });
  await untilTone(page, [1000]);
  await page.evaluate(() => {
    window.hls.audioTrack = 0;
  });
  await untilTone(page, [400, 600]);
  await page.waitForFunction(() => document.querySelector('video')!.ended, undefined, { timeout: 120_000 });
  const { positions, stalls, seeks } = await page.evaluate(() => ({
    positions: window.positions,
    stalls: window.stalls,
    seeks: window.seeks,
  }));
  expect(positions).toEqual(positions.toSorted((a, b) => a - b));
  expect({ stalls, seeks }).toEqual({ stalls: 0, seeks: 0 });
});
