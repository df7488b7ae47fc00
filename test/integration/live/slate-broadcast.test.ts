import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readAvcc } from '#kinora/media/codecs/avc.js';
import { readVideoInit } from '#kinora/media/mp4/read-cmaf.js';
import { writeMedia } from '../../support/media/fixture-media.js';
import { counterOf, type RgbFrame, readRgbFrames } from '../../support/media/measure.js';
import { writePng } from '../../support/media/png.js';
import { useBrowser } from '../../support/players/browser.js';
import { readFrames } from '../../support/players/chromium.js';
import type { ListedSegment } from '../../support/players/live-playlist.js';
import { LiveRules } from '../../support/players/live-rules.js';
import { playThrough } from '../../support/players/play-through.js';
import { seekTo } from '../../support/players/video-page.js';
import { type Publisher, startPublisher } from '../../support/processes/publisher.js';
import { freePort } from '../../support/servers/free-port.js';
import type { Origin } from '../../support/servers/origin.js';
import {
  cleanUpServers,
  makeDataDir,
  type ServerProcess,
  startServer,
  until,
} from '../../support/servers/server-process.js';
import { serveNamed } from '../../support/servers/text-origin.js';
import { api, createAsset, getAsset, settled, type WireAsset } from '../../support/wire/create-asset.js';
import { eventsOf, eventTypes } from '../../support/wire/events.js';

/** 6 s with a counter in each frame, a key frame every 2 s and B-frames. */
const FRAMES = 180;
const SECONDS = FRAMES / 30;
const COLOR = [200, 30, 40] as const;

interface WireLiveStream {
  readonly id: string;
  readonly stream_key: string;
  readonly status: string;
  readonly active_asset_id?: string;
  readonly playback_ids: readonly { readonly id: string }[];
}
interface RecordedAsset extends WireAsset {
  readonly recording_times: readonly {
    readonly started_at: string;
    readonly duration?: number;
    readonly type: string;
  }[];
}

let root: string;
let file: string;
let server: ServerProcess;
let origin: Origin;
let rtmpPort: number;
let fetched = 0;
const dataDir = makeDataDir();
const publishers: Publisher[] = [];

const start = async (): Promise<void> => {
  server = await startServer({ dataDir, options: { RTMP_PORT: String(rtmpPort), LIVE_RUNGS: '1' } });
};

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'kinora-slate-broadcast-'));
  file = join(root, 'session.flv');
  writeMedia(
    {
      muxer: 'flv',
      seconds: SECONDS,
      video: {
        encoder: 'libx264',
        width: 640,
        height: 360,
        rate: [30, 1],
        gop: 60,
        bFrames: 2,
        options: { preset: 'veryfast', crf: '30', 'x264-params': 'scenecut=0:open-gop=0:threads=1' },
      },
      audio: { encoder: 'aac', sampleRate: 48_000, channels: 2, bitRate: 96_000 },
    },
    file,
  );
  const image = writePng(64, 36, () => [...COLOR, 255]);
  origin = await serveNamed({
    'slate.png': (response) => {
      fetched += 1;
      response.end(image);
    },
  });
  rtmpPort = await freePort();
  await start();
});
afterAll(async () => {
  for (const { process } of publishers) process.kill('SIGKILL');
  await cleanUpServers();
  await origin.stop();
  rmSync(root, { recursive: true, force: true });
});

const browser = useBrowser();

const create = async (body: object): Promise<WireLiveStream> => {
  const settings = { playback_policies: ['public'], new_asset_settings: { playback_policies: ['public'] } };
  const response = await api(server, 'POST', '/video/v1/live-streams', { ...settings, ...body });
  expect(response.status).toBe(201);
  return ((await response.json()) as { data: WireLiveStream }).data;
};
const retrieve = async ({ id }: WireLiveStream): Promise<WireLiveStream> =>
  ((await (await api(server, 'GET', `/video/v1/live-streams/${id}`)).json()) as { data: WireLiveStream }).data;

const publish = (key: string): Publisher => {
  const publisher = startPublisher(`rtmp://127.0.0.1:${rtmpPort}/app/${key}`, ['-re', '-i', file, '-c', 'copy']);
  publishers.push(publisher);
  return publisher;
};

/** Follows the playlist of a track of the recording, which keeps all segments. */
class Watcher {
  readonly #rules = new LiveRules();
  assetId: string | undefined;
  #playbackId: string | undefined;

  constructor(
    private readonly stream: WireLiveStream,
    private readonly name: string,
  ) {}

  /** Undefined before it can be played. */
  async segments(): Promise<readonly ListedSegment[]> {
    this.assetId ??= (await retrieve(this.stream)).active_asset_id;
    if (this.assetId === undefined) return [];
    this.#playbackId ??= (await getAsset(server, this.assetId)).playback_ids![0]!.id;
    const response = await this.#fetch('playlist.m3u8');
    if (response.status === 412) return [];
    const problems = this.#rules.check(await response.text());
    // A rung has no parts in segments from before somebody watched it.
    expect(problems.filter((problem) => this.name !== '270p' || !problem.endsWith('has no parts'))).toEqual([]);
    return this.#rules.current!.segments.filter(({ uri }) => uri !== undefined);
  }

  /** Those from the `number`-th discontinuity on. */
  async after(number: number): Promise<readonly ListedSegment[]> {
    const segments = await this.segments();
    const breaks = segments.flatMap(({ discontinuity }, index) => (discontinuity ? [index] : []));
    return breaks[number] === undefined ? [] : segments.slice(breaks[number]);
  }

  get hasEnded(): boolean {
    return this.#rules.current!.ended;
  }

  async frames({ map, uri }: ListedSegment): Promise<RgbFrame[]> {
    const bytes = [map!, uri!].map(async (name) => Buffer.from(await (await this.#fetch(name)).arrayBuffer()));
    return readRgbFrames(await Promise.all(bytes));
  }

  #fetch(name: string): Promise<Response> {
    return fetch(`${server.url}/${this.#playbackId}/live/${this.name}/${name}`);
  }
}

const expectSlate = (frames: readonly RgbFrame[]): void => {
  expect(frames.length).toBeGreaterThan(0);
  for (const { rgb, width, height } of frames) {
    const at = (Math.round(height / 2) * width + Math.round(width / 2)) * 3;
    for (const [index, value] of COLOR.entries()) expect(Math.abs(rgb[at + index]! - value)).toBeLessThan(12);
  }
};
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

const readTop = async (asset: WireAsset) => {
  const { variants } = await playThrough(`${server.url}/${asset.playback_ids![0]!.id}.m3u8`);
  return variants.find(({ attributes }) => attributes.RESOLUTION === '640x360')!;
};
const played = async (asset: WireAsset): Promise<(number | undefined)[]> => {
  const { init, segments } = await readTop(asset);
  return readRgbFrames([init, ...segments.map(({ bytes }) => bytes)]).map(counterOf);
};
const completed = async (assetId: string): Promise<RecordedAsset> => {
  await until('the recording is planned', async () => {
    return (await eventTypes(server, assetId)).includes('live_stream_completed');
  });
  return (await getAsset(server, assetId)) as RecordedAsset;
};

test('viewers see the image while the encoder is away, and the asset has it between both sessions', async () => {
  const slateUrl = `${origin.url}/slate.png`;
  const stream = await create({ latency_mode: 'low', reconnect_window: 120, reconnect_slate_url: slateUrl });
  const [copy, rung] = [new Watcher(stream, '360p'), new Watcher(stream, '270p')];
  await publish(stream.stream_key).output;
  await until('the slate is shown', async () => (await copy.after(0)).length >= 2);
  const assetId = (await retrieve(stream)).active_asset_id!;
  for (const segment of (await copy.after(0)).slice(0, 2)) expectSlate(await copy.frames(segment));
  expect(((await getAsset(server, assetId)) as RecordedAsset).recording_times).toMatchObject([
    { type: 'content', duration: expect.closeTo(SECONDS, 0) },
    { type: 'slate' },
  ]);
  await until('the lower rung shows it', async () => (await rung.after(0)).length >= 4);
  expectSlate(await rung.frames((await rung.after(0)).at(-1)!));

  await publish(stream.stream_key).output;
  await until('what the encoder sends is shown', async () => (await copy.after(1)).length >= 3);
  const counters: (number | undefined)[] = [];
  for (const segment of (await copy.after(1)).slice(0, 3))
    counters.push(...(await copy.frames(segment)).map(counterOf));
  expect(counters).toEqual(upTo(FRAMES));
  await until('the lower rung shows it', async () => (await rung.after(1)).length >= 1);
  const [first] = await rung.after(1);
  expect((await rung.frames(first!)).map(counterOf)).toEqual(upTo(60));

  // A clip while on air, with the end of the first session and the beginning of the slate.
  const clip = await createAsset(server, {
    inputs: [{ url: `mux://assets/${assetId}`, start_time: SECONDS - 1, end_time: SECONDS + 2 }],
    playback_policies: ['public'],
  });
  const cut = await played(await settled(server, clip.id));
  expect(cut.slice(0, 30)).toEqual(upTo(FRAMES).slice(-30));
  expect(cut.slice(30)).toEqual(new Array(60).fill(undefined));

  expect((await api(server, 'PUT', `/video/v1/live-streams/${stream.id}/complete`)).status).toBe(200);
  const asset = await completed(assetId);
  const [before, slate, after] = asset.recording_times;
  expect(asset.recording_times.map(({ type }) => type)).toEqual(['content', 'slate', 'content']);
  const endOf = ({ started_at, duration }: typeof before & object): number => Date.parse(started_at) / 1000 + duration!;
  expect(Math.abs(Date.parse(slate!.started_at) / 1000 - endOf(before!))).toBeLessThan(1);
  expect(Math.abs(Date.parse(after!.started_at) / 1000 - endOf(slate!))).toBeLessThan(1);
  expect(before!.duration! + slate!.duration! + after!.duration!).toBeCloseTo(asset.duration!, 0);
  const frames = await played(asset);
  expect(frames.slice(0, FRAMES)).toEqual(upTo(FRAMES));
  expect(frames.slice(-FRAMES)).toEqual(upTo(FRAMES));
  expect(new Set(frames.slice(FRAMES, -FRAMES))).toEqual(new Set([undefined]));
  expect(frames.length / 30).toBeCloseTo(asset.duration!, 0);
  expect(fetched).toBe(1);

  // The copied variant has the parameter sets of both in one init segment.
  const { init } = await readTop(asset);
  expect(readAvcc(readVideoInit(init).record)!.spsCount).toBe(2);
  const { page, watched } = await browser.open({ viewport: { width: 1280, height: 720 } });
  await page.goto(`${server.url}/${asset.playback_ids![0]!.id}?muted`);
  await page.waitForFunction(() => document.querySelector('video')!.readyState > 2);
  await readFrames(page);
  await seekTo(page, SECONDS - 1);
  await page.locator('video').evaluate((video: HTMLVideoElement) => video.play());
  await page.waitForFunction(
    (end) => window.playedFrames.some(({ mediaSeconds }) => mediaSeconds > end),
    asset.duration! - SECONDS + 2,
  );
  const shown = await page.evaluate(() => window.playedFrames);
  const counterAt = (seconds: number): number =>
    shown.reduce((best, each) =>
      Math.abs(each.mediaSeconds - seconds) < Math.abs(best.mediaSeconds - seconds) ? each : best,
    ).counter;
  expect(watched.requested.some((url) => /\/360p\/\d+\.m4s$/.test(url))).toBe(true);
  expect(watched.requested.some((url) => /\/270p\/\d+\.m4s$/.test(url))).toBe(false);
  const slateSeconds = asset.duration! - 2 * SECONDS;
  expect(counterAt(SECONDS - 0.5)).toBeGreaterThan(FRAMES - 30);
  expect(counterAt(SECONDS + slateSeconds / 2)).toBe(-1);
  const counterLater = counterAt(SECONDS + slateSeconds + 1);
  expect(counterLater).toBeGreaterThan(15);
  expect(counterLater).toBeLessThan(45);
});

test('the slate goes on after kill -9, and the asset does not end with it', async () => {
  const slateUrl = `${origin.url}/slate.png`;
  const stream = await create({ latency_mode: 'low', reconnect_window: 120, reconnect_slate_url: slateUrl });
  const copy = new Watcher(stream, '360p');
  await publish(stream.stream_key).output;
  await until('the slate is shown', async () => (await copy.after(0)).length >= 2);
  const assetId = (await retrieve(stream)).active_asset_id!;
  await server.kill();
  await start();
  await until('the slate is shown again', async () => (await copy.after(1)).length >= 2);
  expectSlate(await copy.frames((await copy.after(1))[1]!));
  const recorded = (await getAsset(server, assetId)) as RecordedAsset;
  expect(recorded.recording_times.map(({ type }) => type)).toEqual(['content', 'slate']);
  expect((await api(server, 'PUT', `/video/v1/live-streams/${stream.id}/disable`)).status).toBe(200);
  const asset = await completed(assetId);
  expect(asset.recording_times.map(({ type }) => type)).toEqual(['content']);
  expect(asset.duration).toBeCloseTo(SECONDS, 0);
  expect(await played(asset)).toEqual(upTo(FRAMES));
});

test('an image that can not be fetched is told, and the default slate is shown until the window ends', async () => {
  const body = { reconnect_window: 8, reconnect_slate_url: `${origin.url}/missing.png`, passthrough: 'mine' };
  const stream = await create({ latency_mode: 'reduced', ...body });
  const copy = new Watcher(stream, '360p');
  await publish(stream.stream_key).output;
  await until('the slate is shown', async () => (await copy.after(0)).length >= 1);
  const assetId = copy.assetId!;
  const frames = await copy.frames((await copy.after(0))[0]!);
  expect(counterOf(frames[0]!)).toBeUndefined();
  await until('the window has ended', async () => (await copy.segments()).length > 0 && copy.hasEnded);
  await until('the stream is idle', async () => (await retrieve(stream)).status === 'idle');
  const warning = {
    type: 'reconnect_slate',
    message:
      'The image of reconnect_slate_url can not be used, so the default slate is shown. ' +
      'The input file could not be downloaded: HTTP status 404.',
  };
  const told = (await eventsOf(server, stream.id)).find(({ type }) => type === 'video.live_stream.warning')!;
  expect(told.object).toEqual({ type: 'live', id: stream.id });
  const { id, stream_key } = stream;
  expect(told.data).toEqual({
    id,
    stream_key,
    status: 'active',
    active_asset_id: assetId,
    passthrough: 'mine',
    warning,
  });
  const asset = await completed(assetId);
  const ofAsset = (await eventsOf(server, assetId)).filter(({ type }) => type === 'video.asset.warning');
  expect(ofAsset.map(({ data }) => data.warning)).toEqual([warning]);
  expect(asset.duration).toBeCloseTo(SECONDS, 0);
});
