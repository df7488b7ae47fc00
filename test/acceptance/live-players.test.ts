/** Players that others have made, on a live stream and on its recording while it is live. */
import { createRequire } from 'node:module';
import Mux from '@mux/mux-node';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fixture } from '../support/media/fixtures.js';
import { useBrowser } from '../support/players/browser.js';
import { type PlayedFrame, readFrames } from '../support/players/chromium.js';
import { LiveRules } from '../support/players/live-rules.js';
import { type Publisher, startPublisher } from '../support/processes/publisher.js';
import { type Booted, boot } from '../support/servers/boot.js';
import { freePort } from '../support/servers/free-port.js';
import { until } from '../support/servers/server-process.js';
import { startTlsProxy, type TlsProxy } from '../support/servers/tls-proxy.js';

/** Mux Player knows only https addresses on `stream.` and `image.` of a domain. */
const DOMAIN = 'kinora.example';
const PAGES = `www.${DOMAIN}`;
const WAIT = { interval: 100 };
/** Of the fixtures, which are sent again and again. */
const RATE = 30;

interface LevelPlayer {
  readonly levels: readonly { readonly height: number }[];
  nextLevel: number;
}
interface MuxPlayer extends HTMLElement {
  currentTime: number;
  readonly streamType: string;
  readonly targetLiveWindow: number;
  readonly media: { readonly error: { readonly message: string } | null };
  play(): Promise<void>;
}
declare global {
  interface Window {
    switching: LevelPlayer;
  }
}

/** What a player's page does with `?url=`. */
const PLAYERS = {
  native: '<script>document.querySelector("video").src = url</script>',
  'hls.js': `<script src="/hls.js"></script><script>
    window.switching = new Hls();
    switching.loadSource(url);
    switching.attachMedia(document.querySelector('video'));
  </script>`,
  shaka: `<script src="/shaka.js"></script><script>
    const player = new shaka.Player();
    player.configure({ streaming: { lowLatencyMode: true }, abr: { enabled: false } });
    player.attach(document.querySelector('video')).then(() => player.load(url));
  </script>`,
};
type PlayerName = keyof typeof PLAYERS;

const { resolve } = createRequire(import.meta.url);
const publishers: Publisher[] = [];
let server: Booted;
let proxy: TlsProxy;
let mux: Mux;
let rtmpPort: number;
let liveId: string;
let recordingId: string;

beforeAll(async () => {
  rtmpPort = await freePort();
  server = await boot({ options: { RTMP_PORT: String(rtmpPort), TRUSTED_PROXIES: '127.0.0.1', LIVE_RUNGS: '1' } });
  mux = new Mux({ baseURL: server.url, tokenId: server.token.id, tokenSecret: server.token.secret, maxRetries: 0 });
  proxy = await startTlsProxy(server.url, {
    host: PAGES,
    files: {
      '/mux-player.js': resolve('@mux/mux-player').replace(/[^/]+$/, 'mux-player.js'),
      '/hls.js': resolve('hls.js/dist/hls.min.js'),
      '/shaka.js': resolve('shaka-player/dist/shaka-player.compiled.js'),
    },
    page: pageOf,
  });
  ({ liveId, recordingId } = await goOnAir('long.mp4'));
});
afterAll(async () => {
  for (const { process } of publishers) process.kill('SIGKILL');
  await Promise.all(publishers.map(({ output }) => output));
  await proxy?.stop();
  await server?.stop();
});
const browser = useBrowser(
  () => ['--ignore-certificate-errors', `--host-resolver-rules=MAP *.${DOMAIN} 127.0.0.1:${proxy.port}`],
  'full',
);

const pageOf = (path: string): string => {
  const query = new URLSearchParams(path.slice(path.indexOf('?') + 1));
  const name = query.get('player') as PlayerName | null;
  if (!name)
    return `<!doctype html><link rel="icon" href="data:,"><style>mux-player{width:320px;height:180px}</style><script src="/mux-player.js"></script>
      <mux-player custom-domain="${DOMAIN}" disable-tracking muted playback-id="${query.get('playback-id')}"></mux-player>`;
  return `<!doctype html><link rel="icon" href="data:,"><video muted autoplay crossorigin width="320"></video>
    <script>const url = ${JSON.stringify(query.get('url'))};</script>${PLAYERS[name]}`;
};

const create = () =>
  mux.video.liveStreams.create({
    playback_policies: ['public'],
    new_asset_settings: { playback_policies: ['public'] },
    latency_mode: 'low',
  });

/** Sends a file until the end of the tests. */
const goOnAir = async (name: Parameters<typeof fixture>[0]) => {
  const stream = await create();
  const args = ['-re', '-stream_loop', '-1', '-i', await fixture(name), '-c', 'copy'];
  publishers.push(startPublisher(`rtmp://127.0.0.1:${rtmpPort}/app/${stream.stream_key}`, args));
  const retrieve = () => mux.video.liveStreams.retrieve(stream.id);
  await until('the live stream is active', async () => (await retrieve()).status === 'active');
  const asset = await mux.video.assets.retrieve((await retrieve()).active_asset_id!);
  return { liveId: stream.playback_ids![0]!.id, recordingId: asset.playback_ids![0]!.id };
};

interface Opened {
  readonly page: Page;
  /** Paths of files, and problems of playlists, so far. */
  readonly requested: readonly string[];
  playlistProblems(): Promise<string[]>;
}

const open = async (query: Record<string, string>, expected?: RegExp): Promise<Opened> => {
  const { page, watched } = await browser.open({ ignoreHTTPSErrors: true, expected });
  await page.route('https://www.gstatic.com/**', (route) => route.fulfill({ body: '' }));
  const rules = new Map<string, LiveRules>();
  let checked: Promise<string[]> = Promise.resolve([]);
  page.on('response', (response) => {
    const { pathname } = new URL(response.url());
    if (!pathname.endsWith('/playlist.m3u8') || response.status() !== 200) return;
    const followed = rules.get(pathname) ?? new LiveRules();
    rules.set(pathname, followed);
    const text = response.text().catch(() => undefined);
    checked = checked.then(async (problems) => {
      const playlist = await text;
      const found = playlist === undefined ? [] : followed.check(playlist);
      // Segments of a lower resolution that nobody watched are made as a whole.
      return [...problems, ...found.filter((problem) => !/^\d+ has no parts$/.test(problem))];
    });
  });
  await page.goto(`https://${PAGES}/?${new URLSearchParams(query)}`);
  return { page, requested: watched.requested, playlistProblems: () => checked };
};
const play = (player: PlayerName, id: string): Promise<Opened> =>
  open({ player, url: `https://stream.${DOMAIN}/${id}.m3u8` });

const video = <T>(page: Page, read: (of: HTMLVideoElement) => T): Promise<T> => page.locator('video').evaluate(read);
const untilMoved = async (page: Page, seconds: number): Promise<void> => {
  await expect.poll(() => video(page, ({ readyState }) => readyState), WAIT).toBeGreaterThan(2);
  const from = await video(page, ({ currentTime }) => currentTime);
  await expect.poll(() => video(page, ({ currentTime }) => currentTime), WAIT).toBeGreaterThan(from + seconds);
};
/**
 * Not to zero: hls.js takes no account of edit lists. It takes the first frame for one that is
 * shown later, by as much as frames are reordered.
 */
const rewind = (page: Page): Promise<void> =>
  video(page, (of) => {
    window.playedFrames = [];
    of.currentTime = 0.2;
  });
/** Counters go on with the time; frames that a busy machine does not show are left out. */
const expectContinuous = (frames: readonly PlayedFrame[]): void => {
  expect(frames.length).toBeGreaterThan(10);
  const wrong = frames.slice(1).filter(({ mediaSeconds, counter }, index) => {
    const before = frames[index]!;
    const steps = (mediaSeconds - before.mediaSeconds) * RATE;
    // The file begins again.
    return counter > before.counter && Math.abs(counter - before.counter - steps) > 0.6;
  });
  expect(wrong).toEqual([]);
};
const usesParts = ({ requested }: Opened): boolean => requested.some((url) => /\/\d+\.\d+\.m4s$/.test(url));

const playsLive = async (player: PlayerName): Promise<Opened> => {
  const live = await play(player, liveId);
  await untilMoved(live.page, 1);
  await readFrames(live.page);
  await untilMoved(live.page, 4);
  expectContinuous(await live.page.evaluate(() => window.playedFrames));
  expect(await live.playlistProblems()).toEqual([]);
  await live.page.close();
  return live;
};

const rewinds = async (player: PlayerName): Promise<void> => {
  const recording = await play(player, recordingId);
  await untilMoved(recording.page, 1);
  await readFrames(recording.page);
  await rewind(recording.page);
  await expect.poll(() => video(recording.page, ({ seeking }) => seeking), WAIT).toBe(false);
  await untilMoved(recording.page, 3);
  const frames = await recording.page.evaluate(() => window.playedFrames);
  expectContinuous(frames);
  expect(Math.min(...frames.map(({ counter }) => counter))).toBeLessThan(60);
  expect(await recording.playlistProblems()).toEqual([]);
};

test('hls.js plays with low latency and rewinds', async () => {
  expect(usesParts(await playsLive('hls.js'))).toBe(true);
  await rewinds('hls.js');
});

test('Shaka Player plays with low latency and rewinds', async () => {
  expect(usesParts(await playsLive('shaka'))).toBe(true);
  await rewinds('shaka');
});

// It offers nothing before the place where it began.
test('the player of Chromium plays', async () => {
  await playsLive('native');
});

test('Mux Player plays with low latency, rewinds, and tries again what is not on air', async () => {
  const inPlayer = <T>({ page }: Opened, read: (player: MuxPlayer) => T): Promise<T> =>
    page.locator('mux-player').evaluate(read as (player: Element) => T) as Promise<T>;
  const watch = async (id: string): Promise<Opened> => {
    const opened = await open({ 'playback-id': id });
    await inPlayer(opened, (player) => player.play());
    await untilMoved(opened.page, 1);
    return opened;
  };
  const live = await watch(liveId);
  await readFrames(live.page);
  await untilMoved(live.page, 4);
  expectContinuous(await live.page.evaluate(() => window.playedFrames));
  expect(await inPlayer(live, (player) => [player.streamType, player.targetLiveWindow])).toEqual(['live', 0]);
  expect(usesParts(live)).toBe(true);
  expect(await live.playlistProblems()).toEqual([]);
  await live.page.close();

  const recording = await watch(recordingId);
  // JSON has no Infinity.
  expect(await inPlayer(recording, (player) => [player.streamType, String(player.targetLiveWindow)])).toEqual([
    ...['live', 'Infinity'],
  ]);
  await rewind(recording.page);
  await readFrames(recording.page);
  await untilMoved(recording.page, 2);
  expect((await recording.page.evaluate(() => window.playedFrames))[0]!.counter).toBeLessThan(60);
  expect(await recording.playlistProblems()).toEqual([]);
  await recording.page.close();

  // It logs each of its attempts.
  const idle = await open({ 'playback-id': (await create()).playback_ids![0]!.id }, /./);
  await expect
    .poll(() => inPlayer(idle, ({ media }) => media.error?.message ?? ''), { interval: 250 })
    .toMatch(/^Retrying in \d+ seconds/);
});

test('hls.js switches between what is sent and a lower resolution', async () => {
  const { liveId: id } = await goOnAir('copy-720p.mp4');
  const opened = await play('hls.js', id);
  const { page } = opened;
  await untilMoved(page, 1);
  const heights = await page.evaluate(() => window.switching.levels.map(({ height }) => height));
  expect(heights.length).toBe(2);
  const switchTo = async (level: number): Promise<void> => {
    await page.evaluate((to) => {
      window.switching.nextLevel = to;
    }, level);
    await page.waitForFunction((height) => document.querySelector('video')!.videoHeight === height, heights[level]);
    await untilMoved(page, 2);
  };
  await switchTo(0);
  await switchTo(1);
  await switchTo(0);
  expect(await opened.playlistProblems()).toEqual([]);
});
