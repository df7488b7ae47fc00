/**
 * The ladder in AV1, and copied AV1 and HEVC: browsers take what they can decode. Debian's Chromium
 * decodes AV1 and not HEVC.
 */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { fixture } from '../support/media/fixtures.js';
import { useBrowser } from '../support/players/browser.js';
import { readFrames, smallWindow, type Watched } from '../support/players/chromium.js';
import { servePage } from '../support/players/page-site.js';
import { playTree } from '../support/players/play.js';
import { seekTo, wrongFrames } from '../support/players/video-page.js';
import { type Booted, boot } from '../support/servers/boot.js';
import type { Origin } from '../support/servers/origin.js';
import { serveNamed } from '../support/servers/text-origin.js';
import { createAsset, settled } from '../support/wire/create-asset.js';

const RATE = 30;
const SCRIPTS = {
  '/shaka.js': 'shaka-player/dist/shaka-player.compiled.js',
  '/hls.js': 'hls.js/dist/hls.min.js',
  '/dash.js': 'dashjs',
};
const PAGE = `<!doctype html><link rel="icon" href="data:,"><video muted></video>
<script src="/shaka.js"></script><script src="/hls.js"></script><script src="/dash.js"></script><script>
  const video = document.querySelector('video');
  video.defaultPlaybackRate = video.playbackRate = 2;
  window.problems = [];
  const notes = [];
  window.describe = () => {
    const { currentTime, readyState, paused, seeking, buffered, videoHeight } = video;
    const ranges = Array.from({ length: buffered.length }, (_, at) => [buffered.start(at), buffered.end(at)]);
    return JSON.stringify({ currentTime, videoHeight, readyState, paused, seeking, ranges, chosen: window.chosen?.(), notes });
  };
  const start = () => video.play().catch((error) => problems.push(String(error)));
  window.playHls = async (url) => {
    const hls = new Hls();
    hls.on(Hls.Events.ERROR, (_, { fatal, details, frag }) => {
      notes.push(details + ' ' + frag?.level + '/' + frag?.sn);
      if (fatal) problems.push(details);
    });
    const parsed = new Promise((resolve) => hls.on(Hls.Events.MANIFEST_PARSED, resolve));
    hls.loadSource(url);
    hls.attachMedia(video);
    await parsed;
    window.variants = () => hls.levels.map(({ videoCodec, height }) => height + ' ' + videoCodec.split('.')[0]);
    window.chosen = () => hls.levels[hls.currentLevel]?.videoCodec ?? '';
    window.choose = (height) => { hls.currentLevel = hls.levels.findIndex((level) => level.height === height); };
    start();
  };
  const playWithShaka = async (url, preferredVideoCodecs) => {
    const player = new shaka.Player();
    player.addEventListener('error', ({ detail }) => problems.push('shaka ' + detail.code));
    player.configure({ abr: { enabled: false }, preferredVideoCodecs });
    await player.attach(video);
    await player.load(url);
    window.variants = () => player.getVariantTracks().map(({ height, videoCodec }) => height + ' ' + videoCodec.split('.')[0]);
    window.chosen = () => player.getVariantTracks().find(({ active }) => active)?.videoCodec ?? '';
    window.choose = (height) => player.selectVariantTrack(player.getVariantTracks().find((track) => track.height === height), true);
    start();
  };
  window.playShaka = (url) => playWithShaka(url, []);
  window.playShakaAv1 = (url) => playWithShaka(url, ['av01']);
  window.playDash = async (url) => {
    const player = dashjs.MediaPlayer().create();
    player.updateSettings({ debug: { logLevel: dashjs.Debug.LOG_LEVEL_NONE } });
    player.on(dashjs.MediaPlayer.events.ERROR, ({ error }) => problems.push('dash ' + error.code + ' ' + error.message));
    const ready = new Promise((resolve) => player.on(dashjs.MediaPlayer.events.STREAM_INITIALIZED, resolve));
    player.initialize(video, url, false);
    await ready;
    window.variants = () => player.getRepresentationsByType('video').map(({ height, codecs }) => height + ' ' + codecs.replace(/.*codecs="/, '').split('.')[0]);
    window.chosen = () => player.getCurrentRepresentationForType('video')?.codecs ?? '';
    window.choose = (height) => {
      player.updateSettings({ streaming: { abr: { autoSwitchBitrate: { video: false } } } });
      const { id } = player.getRepresentationsByType('video').find((each) => each.height === height);
      player.setRepresentationForTypeById('video', id, true);
    };
    start();
  };
</script>`;

declare global {
  interface Window {
    playShakaAv1(url: string): Promise<void>;
    variants(): string[];
    chosen(): string;
    /** What is known of a video that does not go on. */
    describe(): string;
    /** Changes to the variant of this height at once. */
    choose(height: number): void;
  }
}

let server: Booted;
let files: Origin;
let site: Origin;
let page: Page;
let watched: Watched;
/** `large` is short and has the rungs up to 1080p; the others have those up to 480p. */
const ids = { av1: '', hevc: '', large: '' };

beforeAll(async () => {
  files = await serveNamed({
    'av1.mp4': { path: await fixture('av1-480p.mp4') },
    'hevc.mp4': { path: await fixture('hevc-480p.mp4') },
    'large.mp4': { path: await fixture('video-2160p.mp4') },
  });
  site = await servePage(PAGE, SCRIPTS);
  server = await boot({ options: { AV1_AFTER: '0' } });
  for (const name of ['av1', 'hevc', 'large'] as const) {
    const inputs = [{ url: `${files.url}/${name}.mp4` }];
    const created = await createAsset(server, { inputs, playback_policies: ['public'], video_quality: 'plus' });
    const asset = await settled(server, created.id);
    expect(asset.errors).toBeUndefined();
    ids[name] = asset.playback_ids![0]!.id;
    // Players leave a rung whose segments a busy machine encodes too slowly.
    await playTree(`${server.url}/${ids[name]}.m3u8${name === 'hevc' ? '' : '?codecs=av1'}`);
  }
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

type PlayerName = 'playHls' | 'playShaka' | 'playShakaAv1' | 'playDash';

const play = async (player: PlayerName, name: keyof typeof ids, address: string): Promise<string[]> => {
  await page.goto(site.url);
  await readFrames(page);
  const url = `${server.url}/${ids[name]}.${address}`;
  await page.evaluate(([start, of]) => void (window[start] as (of: string) => Promise<void>)(of), [
    player,
    url,
  ] as const);
  await untilTrue(() => window.variants !== undefined);
  return page.evaluate(() => window.variants());
};

/** Waits, and fails with what the page says of a video that does not get there. */
const untilTrue = async <Arg>(check: (arg: Arg) => boolean, arg?: Arg): Promise<void> => {
  const either = `window.problems.length > 0 || (${check})(${JSON.stringify(arg)})`;
  const error = await page.waitForFunction(either).then(
    () => undefined,
    ({ message }: Error) => message,
  );
  const problems = [...(await page.evaluate(() => window.problems)), ...watched.problems];
  if (error !== undefined || problems.length > 0)
    throw new Error([error, ...problems, await page.evaluate(() => window.describe())].join(' '));
};

/** From the start to the end, each frame the one that belongs to its time. Returns their number. */
const playToEnd = async (): Promise<number> => {
  await untilTrue(() => document.querySelector('video')!.ended);
  const frames = await page.evaluate(() => window.playedFrames);
  expect(wrongFrames(frames, RATE)).toEqual([]);
  return frames.length;
};
const expectWholePlay = async (): Promise<void> => {
  expect(await playToEnd()).toBeGreaterThan(10);
};
/** A video that repeats gives a busy machine time. */
const repeat = (isOn: boolean): Promise<void> =>
  page.evaluate((value) => {
    document.querySelector('video')!.loop = value;
  }, isOn);
const askedFor = (part: string): string[] => watched.requested.filter((url) => url.includes(part));

test.each([
  ['playHls', 'm3u8'],
  ['playShakaAv1', 'm3u8'],
  ['playShakaAv1', 'mpd'],
  ['playDash', 'mpd'],
] as const)('%s plays AV1 of the %s from its start to its end', async (player, ending) => {
  const variants = await play(player, 'hevc', ending);
  const [h264, av1] = ['avc1', 'av01'].map((codec) => variants.filter((variant) => variant.endsWith(codec)).length);
  expect(av1).toBeGreaterThan(1);
  // Shaka Player leaves out what it does not prefer.
  expect(h264 === av1 || h264 === 0).toBe(true);
  await untilTrue(() => window.chosen().includes('av01'));
  await expectWholePlay();
  expect(askedFor('/av1-').length).toBeGreaterThan(0);
  expect(askedFor('-hevc/')).toEqual([]);
});

test.each([
  ['playHls', 'm3u8'],
  ['playDash', 'mpd'],
] as const)('%s plays H.264 of the %s when it is asked for', async (player, ending) => {
  const variants = await play(player, 'hevc', `${ending}?codecs=h264`);
  expect(variants.every((variant) => variant.endsWith('avc1'))).toBe(true);
  await expectWholePlay();
  expect(askedFor('av1-')).toEqual([]);
});

test.each([
  ['playHls', 'm3u8?codecs=av1'],
  ['playShakaAv1', 'm3u8?codecs=av1'],
  ['playDash', 'mpd?codecs=av1'],
] as const)('%s goes down and up in the AV1 ladder of the %s', async (player, address) => {
  const heights = (await play(player, 'hevc', address)).map((variant) => Number.parseInt(variant, 10));
  const [low, high] = [Math.min(...heights), Math.max(...heights)];
  expect(low).toBeLessThan(high);
  await repeat(true);
  for (const height of [low, high, low]) {
    // hls.js 1.7.4 stands still if it has to change while it loads an init segment.
    await untilTrue(() => {
      const { buffered, duration } = document.querySelector('video')!;
      return buffered.length > 0 && buffered.end(buffered.length - 1) > duration - 0.1;
    });
    await page.evaluate((value) => window.choose(value), height);
    await untilTrue((value) => document.querySelector('video')!.videoHeight === value, height);
  }
  await repeat(false);
  await expectWholePlay();
});

test.each([
  ['playHls', 'm3u8'],
  ['playShakaAv1', 'm3u8'],
  ['playDash', 'mpd'],
] as const)('%s shows each frame of each rung of the AV1 ladder of the %s', async (player, ending) => {
  for (const [name, height, frames] of [
    ['hevc', 270, 180],
    ['hevc', 360, 180],
    ['hevc', 480, 180],
    ['large', 720, 36],
    ['large', 1080, 36],
  ] as const) {
    const rung = `codecs=av1&min_resolution=${height}p&max_resolution=${height}p`;
    expect(await play(player, name, `${ending}?${rung}`)).toEqual([`${height} av01`]);
    await playToEnd();
    const shown = async () =>
      (await page.evaluate(() => window.playedFrames)).map(({ mediaSeconds }) => Math.round(mediaSeconds * RATE));
    // A busy machine drops frames of a video that plays. They are shown one by one.
    await seekTo(page, 0);
    const played = new Set(await shown());
    for (const frame of Array.from({ length: frames }, (_, at) => at).filter((at) => !played.has(at))) {
      await seekTo(page, (frame + 0.5) / RATE);
      await expect.poll(async () => (await shown()).at(-1), { message: `${height}p` }).toBe(frame);
    }
    expect(wrongFrames(await page.evaluate(() => window.playedFrames), RATE)).toEqual([]);
  }
});

test('hls.js has AV1 of the source as one more level of the ladder', async () => {
  const variants = await play('playHls', 'av1', 'm3u8?codecs=av1');
  expect(variants.every((variant) => variant.endsWith('av01'))).toBe(true);
  expect(variants.filter((variant) => variant.startsWith('480 '))).toHaveLength(2);
  await expectWholePlay();
});
