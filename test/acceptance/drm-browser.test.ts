/**
 * DRM in a real browser: Encrypted Media Extensions with ClearKey, through hls.js and Shaka Player.
 */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fixture } from '../support/media/fixtures.js';
import { useBrowser } from '../support/players/browser.js';
import { countStalls, playAt, type Watched } from '../support/players/chromium.js';
import { servePage } from '../support/players/page-site.js';
import type { OwnedKey } from '../support/players/playback-token.js';
import { listenToTones, untilTone } from '../support/players/video-page.js';
import { type Booted, boot } from '../support/servers/boot.js';
import type { Origin } from '../support/servers/origin.js';
import { serveNamed } from '../support/servers/text-origin.js';
import { api } from '../support/wire/create-asset.js';
import { createDrmAsset, createDrmConfiguration, createSigningKey, playbackToken } from '../support/wire/drm.js';
import { withTracks } from '../support/wire/tracks.js';

const RATE = 30;
const SCRIPTS = {
  '/shaka.js': 'shaka-player/dist/shaka-player.compiled.js',
  '/hls.js': 'hls.js/dist/hls.min.js',
};
/** `levels` and `languages` of the player that runs, and how to choose one of them. */
const PAGE = `<!doctype html><link rel="icon" href="data:,"><video></video>
<script src="/shaka.js"></script><script src="/hls.js"></script><script>
  const video = document.querySelector('video');
  window.problems = [];
  window.playHls = async (url, licenseUrl, bufferSeconds) => {
    const drmSystems = { 'org.w3.clearkey': { licenseUrl } };
    const hls = new Hls({ emeEnabled: true, drmSystems, maxBufferLength: bufferSeconds, maxMaxBufferLength: bufferSeconds });
    hls.on(Hls.Events.ERROR, (_, { fatal, details }) => fatal && problems.push(details));
    hls.on(Hls.Events.MANIFEST_PARSED, () => video.play());
    hls.loadSource(url);
    hls.attachMedia(video);
    // Chromium shows what was appended behind the last frame only from the next keyframe on,
    // unless it seeks.
    let wanted;
    hls.on(Hls.Events.FRAG_BUFFERED, (_, { frag }) => {
      if (frag.type !== 'main' || frag.level !== wanted || frag.sn === 'initSegment') return;
      wanted = undefined;
      video.currentTime += 0.001;
    });
    window.chooseLevel = (index) => {
      wanted = index;
      hls.currentLevel = index;
    };
    window.loadAgain = () => {
      hls.stopLoad();
      hls.startLoad(video.currentTime);
    };
    window.levels = () => hls.levels.map(({ height }) => height);
    window.chooseLanguage = (code) => { hls.audioTrack = hls.audioTracks.findIndex(({ lang }) => lang === code); };
    window.languages = () => hls.audioTracks.map(({ lang }) => lang);
  };
  // Shaka takes ClearKey keys from its configuration.
  const fetchKeys = async (url, licenseUrl) => {
    const playlist = await (await fetch(url)).text();
    const bytesOf = (hex) => String.fromCharCode(...hex.match(/../g).map((digits) => parseInt(digits, 16)));
    const toBase64Url = (hex) => btoa(bytesOf(hex)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
    const toHex = (text) =>
      [...atob(text.replaceAll('-', '+').replaceAll('_', '/'))].map((c) => c.charCodeAt(0).toString(16).padStart(2, '0')).join('');
    const kids = [...new Set([...playlist.matchAll(/KEYID=0x([0-9a-f]{32})/g)].map((match) => toBase64Url(match[1])))];
    const answer = await fetch(licenseUrl, { method: 'POST', body: JSON.stringify({ kids, type: 'temporary' }) });
    if (!answer.ok) throw new Error('license ' + answer.status);
    return Object.fromEntries((await answer.json()).keys.map(({ kid, k }) => [toHex(kid), toHex(k)]));
  };
  window.playShaka = async (url, licenseUrl, bufferSeconds) => {
    try {
      const clearKeys = await fetchKeys(url, licenseUrl);
      const player = new shaka.Player();
      player.addEventListener('error', ({ detail }) => problems.push('shaka ' + detail.code));
      player.configure({ abr: { enabled: false }, drm: { clearKeys }, streaming: { bufferingGoal: bufferSeconds } });
      await player.attach(video);
      await player.load(url);
      window.chooseLevel = (index) => player.selectVariantTrack(player.getVariantTracks()[index], true);
      window.loadAgain = () => player.retryStreaming();
      window.levels = () => player.getVariantTracks().map(({ height }) => height);
      window.chooseLanguage = (code) => player.selectAudioTrack(player.getAudioTracks().find(({ language }) => language === code));
      window.languages = () => player.getAudioTracks().map(({ language }) => language);
      await video.play();
    } catch (error) {
      problems.push(error.code ? 'shaka ' + error.code : error.message);
    }
  };
</script>`;

declare global {
  interface Window {
    problems: string[];
    playHls(url: string, licenseUrl: string, bufferSeconds: number): Promise<void>;
    playShaka(url: string, licenseUrl: string, bufferSeconds: number): Promise<void>;
    chooseLevel(index: number): void;
    /** Starts to load again where the video is. */
    loadAgain(): void;
    levels(): number[];
    chooseLanguage(code: string): void;
    languages(): string[];
  }
}

let server: Booted;
let files: Origin;
let site: Origin;
let page: Page;
let watched: Watched;
let key: OwnedKey;
/** Twenty seconds with two languages, and another DRM id of it. */
let longId: string;
let otherId: string;
/** Ten seconds with many levels, the highest copied. */
let levelsId: string;

beforeAll(async () => {
  files = await serveNamed({
    'long.mp4': { path: await fixture('long.mp4') },
    'levels.mp4': { path: await fixture('copy-720p.mp4') },
    // A tone of 1,000 Hz; those of the video are 400 and 600 Hz.
    'french.wav': { path: await fixture('loudness.wav') },
  });
  site = await servePage(PAGE, SCRIPTS);
  server = await boot();
  const configurationId = await createDrmConfiguration(server, ['--key-source', 'local']);
  const french = { url: `${files.url}/french.wav`, type: 'audio', language_code: 'fr' };
  const [long, levels] = await Promise.all([
    createDrmAsset(server, configurationId, {
      inputs: [{ url: `${files.url}/long.mp4`, name: 'Main' }, french],
      meta: { title: 'Encrypted' },
    }),
    createDrmAsset(server, configurationId, { inputs: [{ url: `${files.url}/levels.mp4` }] }),
  ]);
  await withTracks(server, long.asset);
  [longId, levelsId] = [long.drmId, levels.drmId];
  const policy = { policy: 'drm', drm_configuration_id: configurationId };
  const other = await api(server, 'POST', `/video/v1/assets/${long.asset.id}/playback-ids`, policy);
  otherId = ((await other.json()) as { data: { id: string } }).data.id;
  key = await createSigningKey(server);
});
afterAll(async () => {
  await server?.stop();
  await site?.stop();
  await files?.stop();
});
const browser = useBrowser();
beforeEach(async () => {
  ({ page, watched } = await browser.open());
});

const players = ['playHls', 'playShaka'] as const;

const play = async (
  player: (typeof players)[number],
  id: string,
  { licenseToken = playbackToken(key, id, 'd'), bufferSeconds = 30 } = {},
): Promise<void> => {
  const url = `${server.url}/${id}.m3u8?token=${playbackToken(key, id, 'v')}`;
  const licenseUrl = `${server.url}/license/clearkey/${id}${licenseToken === '' ? '' : `?token=${licenseToken}`}`;
  await page.goto(site.url);
  await page.evaluate(([name, ...args]) => window[name](...args), [player, url, licenseUrl, bufferSeconds] as const);
};

const expectNoProblems = async (): Promise<void> => {
  expect(await page.evaluate(() => window.problems)).toEqual([]);
  expect(watched.problems).toEqual([]);
};
/** Pauses until nothing more is loaded. `seconds` is what the player buffers ahead. */
const pauseUntilFilled = (seconds: number) =>
  page.waitForFunction((ahead) => {
    const video = document.querySelector('video')!;
    video.pause();
    const { buffered, currentTime, duration } = video;
    return buffered.length > 0 && buffered.end(buffered.length - 1) >= Math.min(currentTime + ahead, duration - 0.2);
  }, seconds);
const untilPlaying = () => page.waitForFunction(() => document.querySelector('video')!.currentTime > 0);
const untilEnded = () => page.waitForFunction(() => document.querySelector('video')!.ended);

const expectWholePlay = async (): Promise<void> => {
  const end = await page.evaluate(() => {
    const video = document.querySelector('video')!;
    const { totalVideoFrames, corruptedVideoFrames } = video.getVideoPlaybackQuality();
    const { duration, mediaKeys } = video;
    return { duration, totalVideoFrames, corruptedVideoFrames, hasKeys: mediaKeys !== null, stalls: window.stalls };
  });
  expect(end.duration).toBeCloseTo(20, 1);
  expect(end.totalVideoFrames).toBeGreaterThanOrEqual(20 * RATE);
  expect([end.corruptedVideoFrames, end.stalls, end.hasKeys]).toEqual([0, 0, true]);
};

test.each(players)('%s plays an encrypted asset from start to end', async (player) => {
  await play(player, longId);
  // Pages can't read the frames of encrypted media, so only the stalls are counted.
  await countStalls(page);
  await playAt(page, 4);
  await untilEnded();
  await expectWholePlay();
  await expectNoProblems();
  expect(watched.requested.filter((url) => url.includes('/license/clearkey/')).length).toBeGreaterThan(0);
});

test.each(players)('%s seeks in an encrypted asset and changes its language', async (player) => {
  await play(player, longId);
  await untilPlaying();
  await page.evaluate(() => document.querySelector('video')!.pause());
  for (const seconds of [17.21, 3.05, 11.99, 0.01, 19.4, 8.02]) {
    const shown = await page.evaluate(
      (time) =>
        new Promise<number>((resolve) => {
          const video = document.querySelector('video')!;
          const look = () =>
            video.requestVideoFrameCallback((_, { mediaTime }) => {
              // The last frame from before the seek may come now.
              if (video.seeking && Math.abs(mediaTime - time) > 1) look();
              else resolve(mediaTime);
            });
          look();
          video.currentTime = time;
        }),
      seconds,
    );
    expect(Math.abs(shown - seconds)).toBeLessThanOrEqual(1 / RATE + 0.001);
  }
  await listenToTones(page);
  await page.evaluate(async () => {
    const video = document.querySelector('video')!;
    video.currentTime = 0;
    await video.play();
  });
  const frames = () => page.evaluate(() => document.querySelector('video')!.getVideoPlaybackQuality().totalVideoFrames);
  expect(await page.evaluate(() => window.languages())).toEqual(['und', 'fr']);
  for (const [language, tones] of [
    ['und', [400, 600]],
    ['fr', [1000]],
    ['und', [400, 600]],
  ] as const) {
    const before = await frames();
    await page.evaluate((code) => window.chooseLanguage(code), language);
    await untilTone(page, tones);
    await page.waitForFunction(
      (count) => document.querySelector('video')!.getVideoPlaybackQuality().totalVideoFrames > count + 5,
      before,
    );
  }
  // Unencrypted media would play too.
  const inits = new Set(watched.requested.filter((url) => url.includes('/init.mp4')));
  expect(inits.size).toBeGreaterThanOrEqual(3);
  for (const url of inits) expect(await (await fetch(url)).text()).toMatch(/enc[va]/);
  await expectNoProblems();
});

test.each(players)('%s goes through all levels of an encrypted asset', async (player) => {
  const bufferSeconds = 4;
  await play(player, levelsId, { bufferSeconds });
  await untilPlaying();
  // On a busy machine, the short video ends before all levels are shown.
  await page.locator('video').evaluate((video: HTMLVideoElement) => {
    video.loop = true;
  });
  await playAt(page, 0.5);
  const levels = await page.evaluate(() => window.levels());
  expect(levels.length).toBeGreaterThan(2);
  expect(new Set(levels).size).toBe(levels.length);
  for (const [index, height] of levels.entries()) {
    // After a choice during loading, hls.js sometimes requests the same video segment again and
    // again, and appends no audio.
    await pauseUntilFilled(bufferSeconds);
    const before = await page.evaluate((at) => {
      const video = document.querySelector('video')!;
      window.chooseLevel(at);
      // The choice may pause it once more; whether it plays is checked below.
      video.play().catch(() => undefined);
      return { frames: video.getVideoPlaybackQuality().totalVideoFrames, time: video.currentTime };
    }, index);
    const untilPlayed = (timeout: number) =>
      page.waitForFunction(
        ([expected, { frames, time }]) => {
          const video = document.querySelector('video')!;
          const { totalVideoFrames } = video.getVideoPlaybackQuality();
          const goesOn = video.currentTime > time + 0.1 || video.currentTime < time;
          return video.videoHeight === expected && goesOn && totalVideoFrames > frames + 3;
        },
        [height, before] as const,
        { timeout },
      );
    await untilPlayed(20_000).catch(async () => {
      console.warn(player, 'loads again for the level of', height);
      await page.evaluate(() => window.loadAgain());
      await untilPlayed(100_000);
    });
    const corrupted = await page.evaluate(
      () => document.querySelector('video')!.getVideoPlaybackQuality().corruptedVideoFrames,
    );
    expect([height, corrupted]).toEqual([height, 0]);
  }
  await expectNoProblems();
});

test('without a license nothing is shown', async () => {
  const refused = [
    ['', 400],
    [playbackToken(key, longId, 'v'), 403],
    [playbackToken(key, otherId, 'd'), 403],
    [playbackToken(key, longId, 'd', { exp: 1 }), 403],
  ] as const;
  watched.expected = /40[03]/;
  for (const [licenseToken, status] of refused) {
    watched.problems.length = 0;
    await play('playHls', longId, { licenseToken });
    await page.waitForFunction(() => window.problems.length > 0);
    expect(watched.problems.join('\n')).toContain(`${status} ${server.url}/license/clearkey/${longId}`);
    expect(await page.evaluate(() => document.querySelector('video')!.getVideoPlaybackQuality().totalVideoFrames)).toBe(
      0,
    );
  }
});

describe('the player page', () => {
  const open = (query: string) => page.goto(`${server.url}/${longId}?${query}`);

  test.each(['token', 'playback-token'])('plays a DRM id with `%s` and `drm-token`', async (name) => {
    const license = playbackToken(key, longId, 'd');
    await open(`${name}=${playbackToken(key, longId, 'v')}&drm-token=${license}`);
    await countStalls(page);
    await untilPlaying();
    await playAt(page, 4);
    await untilEnded();
    await expectWholePlay();
    expect(await page.title()).toBe('Encrypted');
    expect(watched.problems).toEqual([]);
    // The page itself has it in its address; playlists and segments need none.
    const withLicense = watched.requested.filter((url) => url.includes(license)).slice(1);
    expect(new Set(withLicense)).toEqual(new Set([`${server.url}/license/clearkey/${longId}?token=${license}`]));
  });

  test('says that there is no access without a good `drm-token`', async () => {
    const viewer = playbackToken(key, longId, 'v');
    watched.expected = /403|400/;
    for (const license of ['', `&drm-token=${viewer}`, `&drm-token=${playbackToken(key, otherId, 'd')}`]) {
      await open(`token=${viewer}${license}`);
      await page.waitForSelector('#message:not([hidden])');
      expect(await page.textContent('#message')).toContain('You do not have access to this video.');
    }
    expect((await open(`drm-token=${playbackToken(key, longId, 'd')}`))!.status()).toBe(403);
  });
});
