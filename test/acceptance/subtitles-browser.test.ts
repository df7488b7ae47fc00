import Mux from '@mux/mux-node';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { fixture } from '../support/media/fixtures.js';
import { useBrowser } from '../support/players/browser.js';
import type { Watched } from '../support/players/chromium.js';
import { type Booted, boot } from '../support/servers/boot.js';
import type { Origin } from '../support/servers/origin.js';
import { readCues, serveNamed } from '../support/servers/text-origin.js';
import { createAsset, settled } from '../support/wire/create-asset.js';

/** Segments are four seconds long. */
const CUES = [
  [0, 0.5, 'from the start'],
  [3, 9, 'across two borders'],
  [4, 4.4, 'from a border'],
  [7.6, 8, 'up to a border'],
  [11.9, 12.1, 'around a border'],
  [19.5, 20, 'to the end'],
] as const;
const timestamp = (seconds: number) => `00:00:${seconds.toFixed(3).padStart(6, '0')}`;
const SUBTITLES = `WEBVTT\n\n${CUES.map(
  ([start, end, text]) => `${timestamp(start)} --> ${timestamp(end)}\n${text}\n\n`,
).join('')}`;
const textsAt = (seconds: number) =>
  CUES.flatMap(([start, end, text]) => (seconds >= start && seconds < end ? [text] : []));

let server: Booted;
let files: Origin;
let page: Page;
let watched: Watched;
let publicId: string;
let signedId: string;
let audioId: string;

beforeAll(async () => {
  files = await serveNamed({
    'long.mp4': { path: await fixture('long.mp4') },
    'audio.m4a': { path: await fixture('audio-only.m4a') },
    'cues.vtt': { text: SUBTITLES },
  });
  server = await boot();
  const make = async (source: string, policies: string[]) => {
    const text = { url: `${files.url}/cues.vtt`, type: 'text', text_type: 'subtitles', language_code: 'en' };
    const inputs = [{ url: `${files.url}/${source}` }, text, { ...text, language_code: 'fr' }];
    const { id } = await createAsset(server, { inputs, playback_policies: policies });
    const asset = await settled(server, id);
    expect(asset.errors).toBeUndefined();
    return asset.playback_ids!.map((playbackId) => playbackId.id);
  };
  [publicId, signedId] = (await make('long.mp4', ['public', 'signed'])) as [string, string];
  [audioId] = (await make('audio.m4a', ['public'])) as [string];
});
afterAll(async () => {
  await server?.stop();
  await files?.stop();
});
const browser = useBrowser();
beforeEach(async () => {
  ({ page, watched } = await browser.open());
});

/** Opens the page of a playback id with the English subtitles on, and stops it. */
const open = async (address: string): Promise<void> => {
  await page.goto(`${server.url}/${address}`);
  await page.waitForFunction(() => document.querySelector('video')!.currentTime > 0);
  await page.evaluate(() => {
    const video = document.querySelector('video')!;
    video.pause();
    const tracks = [...video.textTracks];
    if (tracks.length !== 2) throw new Error(`${tracks.length} text tracks`);
    tracks.find(({ language }) => language === 'en')!.mode = 'showing';
  });
};

/** Stops at a time and waits for these texts. */
const expectTexts = async (seconds: number, texts: readonly string[]): Promise<void> => {
  await page.evaluate((to) => {
    document.querySelector('video')!.currentTime = to;
  }, seconds);
  const shown = () =>
    page.evaluate(() => {
      const video = document.querySelector('video')!;
      const track = [...video.textTracks].find(({ mode }) => mode === 'showing');
      return video.seeking ? undefined : [...(track?.activeCues ?? [])].map((cue) => (cue as VTTCue).text).sort();
    });
  await expect.poll(shown, { timeout: 120_000, message: `at ${seconds} s` }).toEqual([...texts].sort());
};

/** Every cue that the player has, with its times. */
const cues = () =>
  page.evaluate(() => {
    const track = [...document.querySelector('video')!.textTracks].find(({ mode }) => mode === 'showing')!;
    return [...track.cues!]
      .map((cue) => [cue.startTime, cue.endTime, (cue as VTTCue).text] as const)
      .sort(([a], [b]) => a - b);
  });

/** Just before and after each moment at which the texts change. */
const AROUND_BORDERS = [0.2, 2.9, 3.1, 3.95, 4.05, 4.5, 7.55, 7.65, 7.95, 8.05, 8.95, 9.05, 11.95, 12.05, 12.15, 19.6];

test('subtitles are shown at their times, also at the borders of segments', async () => {
  await open(publicId);
  for (const seconds of AROUND_BORDERS) await expectTexts(seconds, textsAt(seconds));
  // A cue that is in several segments is there once.
  const found = await cues();
  expect(found.map(([, , text]) => text)).toEqual(CUES.map(([, , text]) => text));
  for (const [at, [start, end]] of CUES.entries()) {
    expect(Math.abs(found[at]![0] - start)).toBeLessThan(0.002);
    expect(Math.abs(found[at]![1] - end)).toBeLessThan(0.002);
  }
});

test('in an instant clip they keep their place', async () => {
  await open(`${publicId}?asset_start_time=4.5&asset_end_time=15`);
  // The clip begins with the segment at four seconds.
  for (const seconds of [0.1, 0.5, 3.55, 3.65, 4.05, 5.05, 7.95, 8.15])
    await expectTexts(seconds, textsAt(seconds + 4));
});

test('beside audio alone they are shown too', async () => {
  await open(audioId);
  for (const seconds of [0.2, 2.9, 3.95, 4.05, 7.65, 8.05]) await expectTexts(seconds, textsAt(seconds));
});

test('a token opens them', async () => {
  const mux = new Mux({ baseURL: server.url, tokenId: server.token.id, tokenSecret: server.token.secret });
  const { id: keyId, private_key: keySecret } = await mux.system.signingKeys.create();
  const sign = (params: Record<string, string>) =>
    mux.jwt.signPlaybackId(signedId, { keyId, keySecret: keySecret!, params });
  const token = await sign({});
  await open(`${signedId}?token=${token}`);
  for (const seconds of [3.95, 12.05]) await expectTexts(seconds, textsAt(seconds));
  const texts = watched.requested.filter((url) => url.includes('/text-'));
  expect(texts.length).toBeGreaterThan(1);
  expect(texts.filter((url) => !url.includes('signature='))).toEqual([]);
  expect(watched.problems).toEqual([]);
  const [segment] = texts.filter((url) => url.includes('.vtt'));
  expect((await fetch(segment!.replace(/\?.*/, ''))).status).toBe(403);

  const trackId = /\/text-([^/]+)\//.exec(segment!)![1]!;
  const file = `${server.url}/${signedId}/text/${trackId}.vtt`;
  expect((await fetch(file)).status).toBe(403);
  const whole = await fetch(`${file}?token=${token}`);
  expect(whole.headers.get('cache-control')).toBe('private, max-age=3600');
  expect(readCues(await whole.text())).toHaveLength(CUES.length);
  // Who may see a part reads that part only, whatever the query says.
  const part = await sign({ asset_start_time: '16' });
  const response = await fetch(`${file}?token=${part}&asset_start_time=0`);
  expect(readCues(await response.text())).toEqual([{ startSeconds: 3.5, endSeconds: 4, text: 'to the end' }]);
});
