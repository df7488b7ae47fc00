/**
 * Players as users have them, unchanged: what Kinora stores of a view is what the script did, and
 * what the video element told the page.
 */
import { fileURLToPath } from 'node:url';
import Mux from '@mux/mux-node';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { useBrowser } from '../../support/players/browser.js';
import { servePage } from '../../support/players/page-site.js';
import {
  readSession,
  recordSession,
  type Session,
  type Span,
  timeBetween,
} from '../../support/players/watched-session.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import type { Origin } from '../../support/servers/origin.js';
import { serveNamed } from '../../support/servers/text-origin.js';
import { createAsset, settled } from '../../support/wire/create-asset.js';

const TITLE = 'Harbor walk';
/** The client looks at the playhead 40 times a second. How late the page was is added. */
const PRECISION_MS = 250;
/** Ends about eight seconds into the video. */
const HELD_SEGMENT = 3;

/** The package does not export these files, which pages load from a CDN. */
const installed = (path: string): string => fileURLToPath(new URL(`../../../node_modules/${path}`, import.meta.url));

let files: Origin;
let server: Booted;
/** Over plain HTTP, mux-embed reports to localhost only. */
let collector: string;
let environmentId: string;
let mux: Mux;
const sites: Origin[] = [];
/** By the names of players. */
const sessions = new Map<string, { readonly assetId: string; readonly session: Session }>();

beforeAll(async () => {
  files = await serveNamed({ 'live-480p.mp4': { path: await fixture('live-480p.mp4') } });
  server = await boot();
  collector = new URL(server.url).host.replace('127.0.0.1', 'localhost');
  const { id: tokenId, secret: tokenSecret } = server.token;
  mux = new Mux({ baseURL: server.url, tokenId, tokenSecret, maxRetries: 0 });
  ({ environment_id: environmentId } = (await mux.system.utilities.whoami()) as { environment_id: string });
});
afterAll(async () => {
  await server?.stop();
  await files?.stop();
  for (const site of sites) await site.stop();
});
const browser = useBrowser(undefined, 'full');

const serve = async (page: string, scripts: Readonly<Record<string, string>>): Promise<string> => {
  const site = await servePage(page, scripts);
  sites.push(site);
  return site.url;
};

interface Video {
  readonly playlist: string;
  readonly playbackId: string;
  readonly autoplays: boolean;
}

interface Player {
  readonly name: string;
  /** The address of a page that plays at once, or waits for `play`. */
  url(video: Video): Promise<string>;
  /** Until then, there is no video to listen to. */
  readonly isReady: () => boolean;
  readonly play: (page: Page) => Promise<void>;
  /** Switches to another rendition. */
  readonly switchRendition: (page: Page) => Promise<void>;
  readonly expected: Readonly<Record<string, unknown>>;
  /** What it says when there is no playlist. */
  readonly failure: Readonly<Record<string, unknown>>;
}

interface HlsLike {
  readonly levels: readonly unknown[];
  readonly currentLevel: number;
  nextLevel: number;
}
interface PageWindow {
  hls?: HlsLike;
  watchedVideo?: HTMLVideoElement;
}

const switchLevel = (page: Page): Promise<void> =>
  page.evaluate(() => {
    const { hls } = window as unknown as Required<PageWindow>;
    hls.nextLevel = hls.currentLevel === 0 ? hls.levels.length - 1 : 0;
  });

const players: readonly Player[] = [
  {
    name: 'hls.js with mux-embed',
    url: ({ playlist, autoplays }) =>
      serve(
        `<!doctype html><video muted width="320" height="180"></video><script src="/mux.js"></script>
        <script src="/hls.js"></script><script>
        const initMs = mux.utils.now();
        const video = document.querySelector('video');
        const hls = window.hls = new Hls();
        mux.monitor(video, {
          hlsjs: hls, Hls, beaconCollectionDomain: '${collector}', disableCookies: true,
          data: { env_key: '${environmentId}', player_init_time: initMs, player_name: 'Ours', video_title: '${TITLE}', custom_1: 'blue' },
        });
        hls.loadSource('${playlist}');
        hls.attachMedia(video);
        ${autoplays ? 'video.play().catch(() => undefined);' : ''}
        </script>`,
        { '/mux.js': installed('mux-embed/dist/mux.js'), '/hls.js': 'hls.js/dist/hls.js' },
      ),
    isReady: () => true,
    play: (page) => page.evaluate(() => document.querySelector('video')!.play()),
    switchRendition: switchLevel,
    expected: { player_name: 'Ours', custom_1: 'blue', player_autoplay: false },
    failure: { player_error_code: 'networkError', player_error_message: 'levelLoadError' },
  },
  {
    name: 'Mux Player',
    url: ({ playlist, autoplays }) =>
      serve(
        `<!doctype html><style>mux-player{width:320px;height:180px}</style><script src="/mux-player.js"></script>
        <mux-player src="${playlist}" muted ${autoplays ? 'autoplay' : ''} preload="auto" disable-cookies env-key="${environmentId}"
          beacon-collection-domain="${collector}" metadata-video-title="${TITLE}"></mux-player>`,
        { '/mux-player.js': installed('@mux/mux-player/dist/mux-player.js') },
      ),
    isReady: () => {
      const player = document.querySelector('mux-player') as unknown as {
        media?: { nativeEl?: HTMLVideoElement };
        _hls?: HlsLike;
      };
      const page = window as unknown as PageWindow;
      if (!player.media?.nativeEl || !player._hls) return false;
      page.watchedVideo = player.media.nativeEl;
      page.hls = player._hls;
      return true;
    },
    play: (page) => page.evaluate(() => (document.querySelector('mux-player') as unknown as HTMLVideoElement).play()),
    switchRendition: switchLevel,
    expected: { player_software: 'mux-player', player_software_version: '3.14.0' },
    failure: { player_error_code: '2' },
  },
  {
    name: 'the player page',
    url: async ({ playbackId, autoplays }) => `${server.url}/${playbackId}?autoplay=${autoplays}&muted`,
    isReady: () => document.querySelector<HTMLElement>('#start')?.hidden === false,
    play: (page) => page.getByRole('button', { name: 'Start the video' }).click(),
    switchRendition: async (page) => {
      const shown = await page.evaluate(() => document.querySelector('video')!.videoHeight);
      await page.keyboard.press('Escape');
      const menu = page.locator('#quality');
      const values = await menu
        .locator('option')
        .evaluateAll((all) =>
          all.map((option) => [(option as HTMLOptionElement).value, option.textContent ?? ''] as const),
        );
      const [other] = values.find(([value, text]) => Number(value) >= 0 && !text.startsWith(String(shown)))!;
      await menu.selectOption(other, { force: true });
    },
    expected: { player_name: 'Kinora', page_type: 'watchpage', player_autoplay: false },
    failure: { player_error_code: '2', player_error_message: 'levelLoadError 404' },
  },
];

const untilPlayed = (page: Page, seconds: number): Promise<unknown> =>
  page.waitForFunction((to) => window.watchedVideo!.currentTime > to, seconds);

const seek = (page: Page, seconds: number): Promise<void> =>
  page.evaluate(
    (to) =>
      new Promise<void>((resolve) => {
        const of = window.watchedVideo!;
        of.addEventListener('seeked', () => resolve(), { once: true });
        of.currentTime = to;
      }),
    seconds,
  );

/** Start-up, three seeks, a stall, another rendition, a pause. */
const runScript = async (player: Player, page: Page): Promise<Session> => {
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route(
    ({ pathname }) => {
      const [, index] = /\/\d+p\/(\d+)\.m4s$/.exec(pathname) ?? [];
      return Number(index) >= HELD_SEGMENT;
    },
    async (route) => {
      await held;
      await route.continue();
    },
  );
  await player.play(page);
  await untilPlayed(page, 1);
  // Jumps by less than a second look like playing to the client.
  for (const seconds of [5, 2.5, 5.5]) {
    await seek(page, seconds);
    await untilPlayed(page, seconds + 0.5);
  }
  await page.waitForFunction(() => {
    const waiting = window.recordedSession.events.filter(({ type }) => ['waiting', 'playing'].includes(type)).at(-1)!;
    return waiting.type === 'waiting' && Date.now() - waiting.timeMs > 1500;
  });
  release();
  await page.waitForFunction(() => window.recordedSession.events.at(-1)?.type === 'playing');
  const before = await readSession(page);
  const { width, playheadMs } = before.events.at(-1)!;
  await untilPlayed(page, playheadMs / 1000 + 1);
  await player.switchRendition(page);
  await page.waitForFunction((from) => window.watchedVideo!.videoWidth !== from, width);
  // Players tell of the switch a moment after the first picture.
  const switchedMs = (await readSession(page)).events.at(-1)!.playheadMs;
  await untilPlayed(page, Math.max(switchedMs / 1000 + 1.5, playheadMs / 1000 + 4));
  await page.evaluate(() => window.watchedVideo!.pause());
  await page.waitForFunction(() => window.recordedSession.events.at(-1)?.type === 'pause');
  return readSession(page);
};

const near = (expected: number, precision: number) =>
  expect.toSatisfy((value: unknown) => Math.abs(Number(value) - expected) <= precision, `${expected} ± ${precision}`);

type View = Awaited<ReturnType<typeof mux.data.videoViews.retrieve>>['data'];

/** The view of the asset that meets the condition, once it does. */
const storedView = async (assetId: string, isMeant: (view: View) => boolean): Promise<View> => {
  let found: View | undefined;
  const find = async () => {
    const views = await mux.data.videoViews.list({ filters: [`asset_id:${assetId}`] });
    const details = await Promise.all(views.data.map(async ({ id }) => (await mux.data.videoViews.retrieve(id)).data));
    found = details.find(isMeant);
    return found !== undefined;
  };
  await expect.poll(find, { timeout: 180_000, interval: 1000 }).toBe(true);
  return found!;
};

const hasEnded = ({ events }: View): boolean => events.some(({ name }) => name === 'viewend');
const namesOf = ({ events }: View): string[] => events.map(({ name }) => name);

/** Of the media time of each second, the share that was played. */
const playsBySecond = (ranges: readonly Span[], seconds: number): number[] =>
  Array.from({ length: seconds }, (_, at) =>
    ranges.reduce((sum, [from, to]) => sum + Math.max(Math.min(to / 1000, at + 1) - Math.max(from / 1000, at), 0), 0),
  );

describe.each(players)('$name', (player) => {
  let assetId: string;
  let page: Page;

  /** Opens the page of an asset of its own. */
  const open = async (autoplays: boolean, prepare?: (page: Page) => Promise<void>): Promise<void> => {
    const inputs = [{ url: `${files.url}/live-480p.mp4` }];
    ({ id: assetId } = await createAsset(server, { inputs, playback_policies: ['public'], meta: { title: TITLE } }));
    const asset = await settled(server, assetId);
    const playbackId = asset.playback_ids![0]!.id!;
    ({ page } = await browser.open({ viewport: { width: 960, height: 540 }, expected: /404|Error|network/ }));
    await page.route('https://www.gstatic.com/**', (route) => route.fulfill({ body: '' }));
    await prepare?.(page);
    await page.goto(await player.url({ playlist: `${server.url}/${playbackId}.m3u8`, playbackId, autoplays }));
  };

  test('what a viewer did is what is stored', async () => {
    await open(false);
    await page.waitForFunction(player.isReady);
    await recordSession(page);
    const session = await runScript(player, page);
    sessions.set(player.name, { assetId, session });
    expect(await page.context().cookies()).toEqual([]);
    await page.goto('about:blank');
    const view = await storedView(assetId, hasEnded);
    const { events, halts, lateMs, droppedFrames } = session;
    const nearMs = (expected: number, times = 1) => near(expected, PRECISION_MS * times + lateMs);
    const timeOf = (type: string) => events.find((event) => event.type === type)!.timeMs;
    const paused = events.findLast(({ type }) => type === 'pause')!;
    const stalls = halts.filter(([from, to]) => to - from >= 250);
    expect(view).toMatchObject({
      ...player.expected,
      environment_id: environmentId,
      asset_id: assetId,
      video_title: TITLE,
      video_duration: nearMs(24_000),
      player_source_host_name: new URL(server.url).host,
      viewer_application_name: 'Chrome',
      viewer_os_family: 'Linux',
      view_seek_count: 3,
      time_to_first_frame: nearMs(timeOf('playing') - timeOf('play')),
      view_seek_duration: nearMs(timeBetween(events, 'seeking', ['seeked'])),
      buffering_duration: nearMs(
        stalls.reduce((sum, [from, to]) => sum + to - from, 0),
        Math.max(stalls.length, 1),
      ),
      watch_time: nearMs(paused.timeMs - timeOf('play')),
      view_max_playhead_position: nearMs(Math.max(...events.map(({ playheadMs }) => playheadMs))),
      view_dropped_frame_count: near(droppedFrames, 2),
      playback_failure: false,
      video_startup_failure: false,
      exit_before_video_start: false,
      view_dropped: false,
    });
    expect(Date.parse(view.view_start)).toEqual(nearMs(timeOf('play')));
    // A halt may seem shorter or longer than a quarter of a second.
    expect(view.buffering_count).toBeGreaterThanOrEqual(halts.filter(([from, to]) => to - from >= 400 + lateMs).length);
    expect(view.buffering_count).toBeLessThanOrEqual(halts.length);
    // The player sends its last report twice when its page goes.
    const names = namesOf(view);
    for (const once of ['viewstart', 'pause', 'viewend'])
      expect(
        names.filter((name) => name === once),
        once,
      ).toHaveLength(1);
    expect(names.filter((name) => name === 'seeked')).toHaveLength(3);
  });

  test('which parts were watched', async () => {
    const watched = sessions.get(player.name)!;
    const { data } = await mux.data.engagement.assets.heatmap(watched.assetId);
    const expected = playsBySecond(watched.session.ranges, 24);
    const precision = 0.6 + watched.session.lateMs / 1000;
    expect(data.value).toEqual(expected.map((share) => near(share, precision)));
  });

  test('a failure is stored with what the player says', async () => {
    let reported: Promise<unknown> | undefined;
    await open(true, async (opened) => {
      await opened.route(/\/\d+p\/playlist\.m3u8/, (route) => route.fulfill({ status: 404 }));
      reported = opened.waitForResponse((response) => response.request().postData()?.includes('"e":"error"') === true);
    });
    await reported;
    await page.goto('about:blank');
    const view = await storedView(assetId, ({ playback_failure: hasFailed }) => hasFailed);
    expect(view).toMatchObject({
      ...player.failure,
      video_startup_failure: true,
      time_to_first_frame: null,
      view_error_id: expect.any(Number),
    });
    const { data: errors } = await mux.data.errors.list();
    expect(errors).toContainEqual(
      expect.objectContaining({ id: view.view_error_id, message: view.player_error_message }),
    );
  });
});

test('renditions are counted once views are complete', async () => {
  for (const { name } of players) {
    const { assetId, session } = sessions.get(name)!;
    const view = await storedView(assetId, (of) => hasEnded(of) && of.rendition_change_count !== null);
    const widths = session.events.filter(({ type }) => type === 'resize').map(({ width }) => width);
    const ups = widths.filter((width, at) => at > 0 && width > widths[at - 1]!).length;
    expect(view, name).toMatchObject({
      rendition_change_count: widths.length - 1,
      rendition_upshift_count: ups,
      rendition_downshift_count: widths.length - 1 - ups,
      video_source_width_initial: widths[0],
      video_source_width: widths.at(-1),
    });
    // Those of both renditions.
    expect(view.weighted_average_bitrate, name).toBeGreaterThan(100_000);
    expect(view.weighted_average_bitrate, name).toBeLessThan(1_000_000);
  }
});
