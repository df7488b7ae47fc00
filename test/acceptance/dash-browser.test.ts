/** DASH in a real browser, through Shaka Player and dash.js. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fixture } from '../support/media/fixtures.js';
import { useBrowser } from '../support/players/browser.js';
import { playAt, readFrames, smallWindow, type Watched } from '../support/players/chromium.js';
import { servePage } from '../support/players/page-site.js';
import type { OwnedKey } from '../support/players/playback-token.js';
import {
  listenToTones,
  seekTo,
  shownTexts,
  untilShown,
  untilTone,
  wrongFrames,
} from '../support/players/video-page.js';
import { type Booted, boot } from '../support/servers/boot.js';
import type { Origin } from '../support/servers/origin.js';
import { serveNamed } from '../support/servers/text-origin.js';
import { createAsset, settled } from '../support/wire/create-asset.js';
import { createDrmAsset, createDrmConfiguration, createSigningKey, playbackToken } from '../support/wire/drm.js';
import { withTracks } from '../support/wire/tracks.js';

const RATE = 30;
const SCRIPTS = {
  '/shaka.js': 'shaka-player/dist/shaka-player.compiled.js',
  '/dash.js': 'dashjs',
};
/** `levels`, `languages` and so on of the player that runs, and how to choose one of them. */
const PAGE = `<!doctype html><link rel="icon" href="data:,"><video></video>
<script src="/shaka.js"></script><script src="/dash.js"></script><script>
  const video = document.querySelector('video');
  window.problems = [];
  window.playShaka = async (url, licenseUrl) => {
    const player = new shaka.Player();
    player.addEventListener('error', ({ detail }) => problems.push('shaka ' + detail.code));
    player.addEventListener('warning', ({ detail }) => problems.push('shaka ' + detail.code));
    const drm = licenseUrl ? { servers: { 'org.w3.clearkey': licenseUrl } } : {};
    player.configure({ abr: { enabled: false }, drm });
    await player.attach(video);
    await player.load(url);
    window.levels = () => player.getVariantTracks().filter(({ language }) => language === player.getVariantTracks()[0].language).map(({ height }) => height);
    window.chooseLevel = (height) => {
      const { language } = player.getVariantTracks().find(({ active }) => active);
      player.selectVariantTrack(player.getVariantTracks().find((one) => one.height === height && one.language === language), true);
    };
    // A choice while Shaka still empties a buffer would break off what it never asks for again.
    window.isFilled = () => player.getBufferedInfo().audio.length > 0 && player.getBufferedInfo().video.length > 0;
    window.languages = () => player.getAudioTracks().map(({ language, label, roles }) => [language, label, ...roles].join(' '));
    window.chooseLanguage = (code) => player.selectAudioTrack(player.getAudioTracks().find(({ language }) => language === code));
    window.texts = () => player.getTextTracks().map(({ language, label, kind }) => [language, label, kind].join(' '));
    window.chooseText = (code) => player.selectTextTrack(player.getTextTracks().find(({ language }) => language === code));
    window.preview = async (time) => {
      const [{ id }] = player.getImageTracks();
      const { uris, width, height, positionX, positionY } = await player.getThumbnails(id, time);
      return { url: uris[0], width, height, x: positionX, y: positionY };
    };
    await video.play();
  };
  window.playDash = async (url, licenseUrl) => {
    const player = dashjs.MediaPlayer().create();
    player.updateSettings({ debug: { logLevel: dashjs.Debug.LOG_LEVEL_NONE }, streaming: {
      abr: { autoSwitchBitrate: { video: false } }, buffer: { fastSwitchEnabled: true, bufferTimeDefault: 4, bufferTimeAtTopQuality: 4, bufferTimeAtTopQualityLongForm: 4 }, text: { defaultEnabled: false },
    } });
    player.on(dashjs.MediaPlayer.events.ERROR, ({ error }) => problems.push('dash ' + error.code + ' ' + error.message));
    if (licenseUrl) player.setProtectionData({ 'org.w3.clearkey': { serverURL: licenseUrl } });
    const ready = new Promise((resolve) => player.on(dashjs.MediaPlayer.events.STREAM_INITIALIZED, resolve));
    const textsReady = new Promise((resolve) => player.on(dashjs.MediaPlayer.events.TEXT_TRACKS_ADDED, resolve));
    player.initialize(video, url, false);
    await ready;
    window.levels = () => player.getRepresentationsByType('video').map(({ height }) => height);
    window.chooseLevel = (height) =>
      player.setRepresentationForTypeById('video', player.getRepresentationsByType('video').find((one) => one.height === height).id, true);
    window.isFilled = () => video.buffered.length > 0;
    const describe = ({ lang, labels, roles }) => [lang, labels[0].text, ...roles.map(({ value }) => value)].join(' ');
    window.languages = () => player.getTracksFor('audio').map(describe);
    window.chooseLanguage = (code) => player.setCurrentTrack(player.getTracksFor('audio').find(({ lang }) => lang === code));
    window.texts = () => player.getTracksFor('text').map(describe);
    window.chooseText = async (code) => {
      await textsReady;
      // dash.js loses a text that arrives after a seek.
      const loaded = new Promise((resolve) =>
        player.on(dashjs.MediaPlayer.events.FRAGMENT_LOADING_COMPLETED, ({ request }) => request.mediaType === 'text' && setTimeout(resolve)));
      player.setTextTrack(player.getTracksFor('text').findIndex(({ lang }) => lang === code));
      await loaded;
    };
    window.preview = (time) => new Promise((resolve) => player.provideThumbnail(time, resolve));
    await video.play();
  };
</script>`;

type Preview = {
  readonly url: string;
  readonly width: number;
  readonly height: number;
  readonly x: number;
  readonly y: number;
};

declare global {
  interface Window {
    problems: string[];
    playShaka(url: string, licenseUrl?: string): Promise<void>;
    playDash(url: string, licenseUrl?: string): Promise<void>;
    chooseLevel(height: number): void;
    levels(): number[];
    isFilled(): boolean;
    chooseLanguage(code: string): void;
    languages(): string[];
    chooseText(code: string): void | Promise<void>;
    texts(): string[];
    preview(time: number): Promise<Preview>;
  }
}

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
let key: OwnedKey;
/** Twenty seconds with two languages and subtitles: a public and a DRM id of the same media. */
let longId: string;
let drmId: string;
/** Ten seconds with many levels, the highest copied. */
let levelsId: string;

beforeAll(async () => {
  files = await serveNamed({
    'long.mp4': { path: await fixture('long.mp4') },
    'levels.mp4': { path: await fixture('copy-720p.mp4') },
    // A tone of 1,000 Hz; those of the video are 400 and 600 Hz.
    'french.wav': { path: await fixture('loudness.wav') },
    'cues.vtt': { text: SUBTITLES },
  });
  site = await servePage(PAGE, SCRIPTS);
  server = await boot();
  const configurationId = await createDrmConfiguration(server, ['--key-source', 'local']);
  const inputs = [
    { url: `${files.url}/long.mp4`, name: 'Main & first' },
    { url: `${files.url}/french.wav`, type: 'audio', language_code: 'fr', name: 'Français' },
    { url: `${files.url}/cues.vtt`, type: 'text', text_type: 'subtitles', language_code: 'en', name: '<English>' },
  ];
  const prepare = async (main: object[]): Promise<string> => {
    const created = await createAsset(server, { inputs: main, playback_policies: ['public'] });
    const asset = await withTracks(server, await settled(server, created.id));
    expect(asset.errors).toBeUndefined();
    return asset.playback_ids![0]!.id;
  };
  longId = await prepare(inputs);
  levelsId = await prepare([{ url: `${files.url}/levels.mp4` }]);
  drmId = (await createDrmAsset(server, configurationId, { inputs: inputs.slice(0, 2) })).drmId;
  key = await createSigningKey(server);
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

const players = ['playShaka', 'playDash'] as const;
type PlayerName = (typeof players)[number];

/**
 * Reads frames from the first one on. Seeking back to it while dash.js fills its first buffers can
 * leave them empty.
 */
const play = async (player: PlayerName, url: string, licenseUrl?: string): Promise<void> => {
  await page.goto(site.url);
  if (licenseUrl === undefined) await readFrames(page);
  const problem = await page.evaluate(
    ([name, ...args]) =>
      Promise.race([
        window[name](...args),
        new Promise((resolve) => setInterval(() => window.problems.length > 0 && resolve(window.problems), 100)),
      ]),
    [player, url, licenseUrl] as const,
  );
  expect([problem, ...watched.problems]).toEqual([undefined]);
};
const untilEnded = async (timeout = 120_000) => {
  const isOver = () => document.querySelector('video')!.ended || window.problems.length > 0;
  await page.waitForFunction(isOver, undefined, { timeout }).catch(async (cause: unknown) => {
    throw new Error(`not played to its end: ${await describePlayback()}`, { cause });
  });
  await expectNoProblems();
};
const describePlayback = (): Promise<string> =>
  page.evaluate(() => {
    const { buffered, currentTime, readyState, seeking, paused, videoHeight } = document.querySelector('video')!;
    const ranges = Array.from({ length: buffered.length }, (_, at) => [buffered.start(at), buffered.end(at)]);
    const loaded = performance.getEntriesByType('resource').map(({ name }) => name.replace(/.*\/(?=.*\/)/, ''));
    const last = loaded.slice(-12);
    return JSON.stringify({ ranges, currentTime, readyState, seeking, paused, videoHeight, last });
  });
const expectNoProblems = async (): Promise<void> => {
  expect(await page.evaluate(() => window.problems)).toEqual([]);
  expect(watched.problems).toEqual([]);
};
/**
 * Each frame is the one that belongs to its time: counter n is shown at n / rate, later by what was
 * cut off in front.
 */
const expectRightFrames = async (cutSeconds = 0): Promise<number> => {
  const frames = await page.evaluate(() => window.playedFrames);
  expect(wrongFrames(frames, RATE, cutSeconds)).toEqual([]);
  return frames.length;
};
describe.each(players)('%s', (player) => {
  test('plays from start to end', async () => {
    await play(player, `${server.url}/${longId}.mpd`);
    await playAt(page, 2);
    await untilEnded();
    const end = await page.evaluate(() => {
      const video = document.querySelector('video')!;
      const { totalVideoFrames, corruptedVideoFrames } = video.getVideoPlaybackQuality();
      return { duration: video.duration, totalVideoFrames, corruptedVideoFrames, stalls: window.stalls };
    });
    expect(end.duration).toBeCloseTo(20, 1);
    // Chromium may count the last frame after the end.
    expect(end.totalVideoFrames).toBeGreaterThanOrEqual(20 * RATE - 1);
    expect([end.corruptedVideoFrames, end.stalls]).toEqual([0, 0]);
    expect(await expectRightFrames()).toBeGreaterThan(20);
    await expectNoProblems();
  });

  test('finds the exact frame of ten places, subtitles and previews there', async () => {
    await play(player, `${server.url}/${longId}.mpd`);
    await page.evaluate(() => document.querySelector('video')!.pause());
    expect(await page.evaluate(() => window.texts())).toEqual(['en <English> subtitle']);
    await page.evaluate(() => window.chooseText('en'));
    await page.waitForFunction(() => window.isFilled());
    for (const seconds of [17.21, 4.2, 11.99, 0.01, 19.4, 8.02, 4.0, 15.98, 3.5, 12.34]) {
      await seekTo(page, seconds);
      await untilShown(page, seconds, RATE);
      const expected = [
        ...(seconds >= 3 && seconds < 5 ? ['across a border'] : []),
        ...(seconds >= 8 && seconds < 8.5 ? ['from a border'] : []),
      ];
      await expect.poll(() => shownTexts(page), { timeout: 120_000, message: `at ${seconds} s` }).toEqual(expected);
      const preview = await page.evaluate((time) => window.preview(time), seconds);
      const storyboard = (await (await fetch(`${server.url}/${longId}/storyboard.json`)).json()) as {
        tiles: { start: number; x: number; y: number }[];
      };
      const { x, y } = storyboard.tiles.findLast(({ start }) => start <= seconds)!;
      expect([preview.x, preview.y]).toEqual([x, y]);
      const sheet = await fetch(preview.url);
      expect([sheet.status, sheet.headers.get('content-type')]).toEqual([200, 'image/jpeg']);
    }
    await expectRightFrames();
    await expectNoProblems();
  });

  test('changes the language', async () => {
    await play(player, `${server.url}/${longId}.mpd`);
    await listenToTones(page);
    expect(await page.evaluate(() => window.languages())).toEqual(['und Main & first main', 'fr Français alternate']);
    for (const [language, tones] of [
      ['und', [400, 600]],
      ['fr', [1000]],
      ['und', [400, 600]],
    ] as const) {
      await page.evaluate((code) => window.chooseLanguage(code), language);
      await untilTone(page, tones);
    }
    await expectNoProblems();
  });

  test('goes through all levels', async () => {
    await play(player, `${server.url}/${levelsId}.mpd`);
    const levels = await page.evaluate(() => window.levels());
    expect(levels.length).toBeGreaterThan(2);
    // Slowly, so that the short video lasts for all of them.
    await playAt(page, 0.5);
    const choose = (height: number) => page.evaluate((wanted) => window.chooseLevel(wanted), height);
    const untilPlayed = (height: number, timeout: number) =>
      page.waitForFunction(
        (wanted) => {
          const video = document.querySelector('video')!;
          return video.videoHeight === wanted && video.readyState > 2 && window.isFilled();
        },
        height,
        { timeout },
      );
    for (const [index, height] of levels.entries()) {
      await choose(height);
      await untilPlayed(height, 20_000).catch(async () => {
        // Shaka never repeats a request that a choice breaks off. Another choice makes it ask
        // again.
        await choose(levels[(index + 1) % levels.length]!);
        await choose(height);
        await untilPlayed(height, 60_000);
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
    await playAt(page, 1);
    await untilEnded(30_000).catch(async () => {
      // In case it stops loading after quick changes, the log shows what it had.
      console.warn(player, 'stopped after it went through all levels:', await describePlayback());
      await expectRightFrames();
      await play(player, `${server.url}/${levelsId}.mpd`);
      await choose(levels.at(-1)!);
      await playAt(page, 2);
      await untilEnded();
    });
    await expectRightFrames();
    await expectNoProblems();
  });

  test('plays an instant clip from its own zero', async () => {
    // Segments begin at multiples of 4 s.
    const clip = `${server.url}/${longId}.mpd?asset_start_time=5&asset_end_time=11`;
    await play(player, clip);
    await page.evaluate(() => window.chooseText('en'));
    // dash.js displays cues only while it plays. The part with the cue is played again until the
    // subtitles have arrived.
    const cue = await page.waitForFunction(() => {
      const video = document.querySelector('video')!;
      if (!video.seeking && video.currentTime > 4.5) video.currentTime = 3.8;
      const displayed = [...video.textTracks].flatMap(({ activeCues }) => [...(activeCues ?? [])] as VTTCue[]);
      const found = displayed.find(({ text }) => text === 'from a border');
      return found && [found.startTime, found.endTime];
    });
    expect(await cue.jsonValue()).toEqual([4, 4.5]);
    // In a new page: after many quick seeks dash.js sometimes loads nothing more.
    await play(player, clip);
    await playAt(page, 2);
    await untilEnded();
    expect(await page.evaluate(() => document.querySelector('video')!.duration)).toBeCloseTo(8, 1);
    expect(await expectRightFrames(4)).toBeGreaterThan(10);
    await expectNoProblems();
  });

  test('plays an encrypted asset from start to end, and seeks in it', async () => {
    const licenseUrl = `${server.url}/license/clearkey/${drmId}?token=${playbackToken(key, drmId, 'd')}`;
    await play(player, `${server.url}/${drmId}.mpd?token=${playbackToken(key, drmId, 'v')}`, licenseUrl);
    await playAt(page, 2);
    await untilEnded();
    const end = await page.evaluate(() => {
      const video = document.querySelector('video')!;
      const { corruptedVideoFrames } = video.getVideoPlaybackQuality();
      const { duration, mediaKeys, played } = video;
      return { duration, hasKeys: mediaKeys !== null, corruptedVideoFrames, played: [played.start(0), played.end(0)] };
    });
    expect(end.duration).toBeCloseTo(20, 1);
    expect(end.played[0]).toBeLessThan(0.1);
    expect(end.played[1]).toBeGreaterThan(19.9);
    expect([end.hasKeys, end.corruptedVideoFrames]).toEqual([true, 0]);
    for (const seconds of [12.34, 4.0, 17.21]) {
      const shown = await page.evaluate(
        (time) =>
          new Promise<number>((resolve) => {
            const video = document.querySelector('video')!;
            video.requestVideoFrameCallback((_, { mediaTime }) => resolve(mediaTime));
            video.currentTime = time;
          }),
        seconds,
      );
      expect(Math.abs(shown - seconds)).toBeLessThanOrEqual(1 / RATE + 0.001);
    }
    // Media in the clear would play too.
    const inits = new Set(watched.requested.filter((url) => url.includes('/init.mp4')));
    expect(inits.size).toBeGreaterThanOrEqual(2);
    for (const url of inits) expect(await (await fetch(url)).text()).toMatch(/enc[va]/);
    await expectNoProblems();
  });
});
