import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { fixture } from '../support/media/fixtures.js';
import { useBrowser } from '../support/players/browser.js';
import { playAt, readFrames, smallWindow, type Watched } from '../support/players/chromium.js';
import { servePage } from '../support/players/page-site.js';
import { seekTo, shownTexts, untilShown, wrongFrames } from '../support/players/video-page.js';
import { type Booted, boot } from '../support/servers/boot.js';
import type { Origin } from '../support/servers/origin.js';
import { serveNamed } from '../support/servers/text-origin.js';
import { createAsset, settled } from '../support/wire/create-asset.js';
import { withTracks } from '../support/wire/tracks.js';

/** The part of Shaka Player that the page uses. */
interface ShakaTrack {
  readonly height: number;
  readonly language: string;
  readonly active: boolean;
}
interface ShakaPlayer {
  getVariantTracks(): ShakaTrack[];
  selectVariantTrack(track: ShakaTrack, clearBuffer: boolean): void;
  getTextTracks(): ShakaTrack[];
  getBufferedInfo(): { readonly audio: readonly object[]; readonly video: readonly object[] };
  selectTextTrack(track: ShakaTrack): void;
}
declare global {
  interface Window {
    player: ShakaPlayer;
    shakaProblems: string[];
    play: (url: string) => Promise<void>;
  }
}

const RATE = 30;
const PAGE = `<!doctype html><link rel="icon" href="data:,"><video muted></video><script src="/shaka.js"></script><script>
  window.shakaProblems = [];
  window.play = async (url) => {
    const video = document.querySelector('video');
    window.player = new shaka.Player();
    player.addEventListener('error', ({ detail }) => shakaProblems.push(String(detail.code)));
    player.addEventListener('warning', ({ detail }) => shakaProblems.push(String(detail.code)));
    player.configure({ abr: { enabled: false } });
    await player.attach(video);
    await player.load(url);
    await video.play();
  };
</script>`;
const SUBTITLES = `WEBVTT

00:00:03.000 --> 00:00:05.000
across a border

00:00:08.000 --> 00:00:08.500
from a border
`;

let server: Booted;
let files: Origin;
let site: Origin;
let page: Page;
let watched: Watched;
let longId: string;

beforeAll(async () => {
  files = await serveNamed({
    'long.mp4': { path: await fixture('long.mp4') },
    'levels.mp4': { path: await fixture('copy-720p.mp4') },
    'dub.flac': { path: await fixture('audio-only.flac') },
    'cues.vtt': { text: SUBTITLES },
  });
  site = await servePage(PAGE, { '/shaka.js': 'shaka-player/dist/shaka-player.compiled.js' });
  server = await boot();
  const subtitles = { url: `${files.url}/cues.vtt`, type: 'text', text_type: 'subtitles', language_code: 'en' };
  longId = await prepare({ url: `${files.url}/long.mp4` }, subtitles);
});
afterAll(async () => {
  await server?.stop();
  await site?.stop();
  await files?.stop();
});
const browser = useBrowser();
beforeEach(async () => {
  ({ page, watched } = await browser.open(smallWindow));
});

/** A ready asset of a video with a second language. */
const prepare = async (...inputs: object[]): Promise<string> => {
  inputs.push({ url: `${files.url}/dub.flac`, type: 'audio', language_code: 'es' });
  const created = await createAsset(server, { inputs, playback_policies: ['public'] });
  const asset = await withTracks(server, await settled(server, created.id));
  expect(asset.errors).toBeUndefined();
  return asset.playback_ids![0]!.id;
};
const play = async (playbackId: string): Promise<void> => {
  await page.goto(site.url);
  await page.evaluate((url) => window.play(url), `${server.url}/${playbackId}.m3u8`);
};

const expectNoProblems = async (): Promise<void> => {
  expect(await page.evaluate(() => window.shakaProblems)).toEqual([]);
  expect(watched.problems).toEqual([]);
};
/** Each frame is the one that belongs to its time: counter n is shown at n / rate. */
const expectRightFrames = async (): Promise<number> => {
  const frames = await page.evaluate(() => window.playedFrames);
  expect(wrongFrames(frames, RATE)).toEqual([]);
  return frames.length;
};

test('Shaka Player plays from start to end', async () => {
  await play(longId);
  await seekTo(page, 0);
  await readFrames(page);
  await playAt(page, 2);
  await page.waitForFunction(() => document.querySelector('video')!.ended, undefined, { timeout: 120_000 });
  const end = await page.evaluate(() => {
    const video = document.querySelector('video')!;
    const { totalVideoFrames, corruptedVideoFrames } = video.getVideoPlaybackQuality();
    return { duration: video.duration, totalVideoFrames, corruptedVideoFrames, stalls: window.stalls };
  });
  expect(end.duration).toBeCloseTo(20, 1);
  expect(end.totalVideoFrames).toBeGreaterThanOrEqual(20 * RATE);
  expect([end.corruptedVideoFrames, end.stalls]).toEqual([0, 0]);
  // One a second at least was there to be judged.
  expect(await expectRightFrames()).toBeGreaterThan(20);
  await expectNoProblems();
});

test('Shaka Player finds the exact frame of ten places, and the subtitles there', async () => {
  await play(longId);
  await page.evaluate(() => {
    document.querySelector('video')!.pause();
    window.player.selectTextTrack(window.player.getTextTracks()[0]!);
  });
  await readFrames(page);
  for (const seconds of [17.21, 4.2, 11.99, 0.01, 19.4, 8.02, 4.0, 15.98, 3.5, 12.34]) {
    await seekTo(page, seconds);
    await untilShown(page, seconds, RATE);
    const expected = [
      ...(seconds >= 3 && seconds < 5 ? ['across a border'] : []),
      ...(seconds >= 8 && seconds < 8.5 ? ['from a border'] : []),
    ];
    await expect.poll(() => shownTexts(page), { timeout: 120_000, message: `at ${seconds} s` }).toEqual(expected);
  }
  await expectRightFrames();
  await expectNoProblems();
});

test('Shaka Player goes through all levels and languages', async () => {
  await play(await prepare({ url: `${files.url}/levels.mp4` }));
  const variants = await page.evaluate(() => window.player.getVariantTracks());
  expect(variants.length).toBeGreaterThan(4);
  expect(new Set(variants.map(({ language }) => language)).size).toBe(2);
  await readFrames(page);
  const setRate = (rate: number) =>
    page.evaluate((to) => {
      document.querySelector('video')!.playbackRate = to;
    }, rate);
  // Slowly, so that the short video lasts for all of them.
  await setRate(0.1);
  const select = (index: number) =>
    page.evaluate((at) => window.player.selectVariantTrack(window.player.getVariantTracks()[at]!, true), index);
  const untilPlayed = (index: number, height: number | null, timeout: number) =>
    page.waitForFunction(
      ([at, expected]) => {
        const { videoHeight, readyState } = document.querySelector('video')!;
        // Both buffers filled again: a choice while Shaka still empties them would break off what
        // it never asks for again.
        const { audio, video } = window.player.getBufferedInfo();
        const isFilled = readyState > 2 && audio.length > 0 && video.length > 0;
        return isFilled && videoHeight === expected && window.player.getVariantTracks()[at!]!.active;
      },
      [index, height],
      { timeout },
    );
  for (const [index, { height }] of variants.entries()) {
    await select(index);
    await untilPlayed(index, height, 20_000).catch(async () => {
      // On a busy machine that happens all the same: another choice makes it ask again.
      await select((index + 1) % variants.length);
      await select(index);
      await untilPlayed(index, height, 60_000);
    });
    // Back within what is buffered, since on a busy machine the short video would end before its
    // last level.
    await page.evaluate(() => {
      const video = document.querySelector('video')!;
      video.currentTime = 0.1;
      // If it has ended, it is paused.
      return video.play();
    });
    await page.waitForFunction(() => !document.querySelector('video')!.seeking);
  }
  await setRate(1);
  await page.waitForFunction(() => document.querySelector('video')!.ended, undefined, { timeout: 120_000 });
  await expectRightFrames();
  await expectNoProblems();
});
