import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeMedia } from '../../support/media/fixture-media.js';
import { counterOf, readFrameCounters, readRgbFrames } from '../../support/media/measure.js';
import { parseLivePlaylist } from '../../support/players/live-playlist.js';
import { LiveRules } from '../../support/players/live-rules.js';
import { playThrough } from '../../support/players/play-through.js';
import { type Publisher, publishForever, startPublisher } from '../../support/processes/publisher.js';
import { freePort } from '../../support/servers/free-port.js';
import {
  cleanUpServers,
  makeDataDir,
  type ServerProcess,
  startServer,
  until,
} from '../../support/servers/server-process.js';
import { api, getAsset, type WireAsset } from '../../support/wire/create-asset.js';
import { eventTypes } from '../../support/wire/events.js';

/** 6 s with a counter in each frame, a key frame every 2 s and B-frames. */
const FRAMES = 180;
const SESSION_SECONDS = FRAMES / 30;

interface WireLiveStream {
  readonly id: string;
  readonly stream_key: string;
  readonly status: string;
  readonly active_asset_id?: string;
  readonly recent_asset_ids?: readonly string[];
  readonly playback_ids: readonly { readonly id: string }[];
}

let root: string;
let file: string;
let server: ServerProcess;
let rtmpPort: number;
const dataDir = makeDataDir();
const publishers: Publisher[] = [];

const start = async (): Promise<void> => {
  server = await startServer({ dataDir, options: { RTMP_PORT: String(rtmpPort), LIVE_RUNGS: '0' } });
};

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'kinora-broadcast-'));
  file = join(root, 'session.flv');
  writeMedia(
    {
      muxer: 'flv',
      seconds: SESSION_SECONDS,
      video: {
        encoder: 'libx264',
        width: 320,
        height: 180,
        rate: [30, 1],
        gop: 60,
        bFrames: 2,
        options: { preset: 'veryfast', crf: '30', 'x264-params': 'scenecut=0:open-gop=0:threads=1' },
      },
      audio: { encoder: 'aac', sampleRate: 48_000, channels: 2, bitRate: 96_000 },
    },
    file,
  );
  rtmpPort = await freePort();
  await start();
});
afterAll(async () => {
  for (const { process } of publishers) process.kill('SIGKILL');
  await cleanUpServers();
  rmSync(root, { recursive: true, force: true });
});

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

const untilStatus = (stream: WireLiveStream, status: string): Promise<void> =>
  until(`the live stream is ${status}`, async () => (await retrieve(stream)).status === status);

/** What viewers of the live stream see of its video. */
const playlistOf = async (id: string): Promise<string> => {
  const response = await fetch(`${server.url}/${id}/live/270p/playlist.m3u8`);
  expect(response.status).toBe(200);
  return response.text();
};
/**
 * Segments with what encoders sent, in the playlist of the recording, which keeps all. Between
 * sessions there are others, of the slate.
 */
const countSegments = async ({ playback_ids: ids }: WireAsset): Promise<number> => {
  const { segments } = parseLivePlaylist(await playlistOf(ids![0]!.id));
  return segments.filter(({ uri, map }) => uri !== undefined && map === segments[0]!.map).length;
};

test('a broadcast goes on after a reconnect and after kill -9, and becomes an asset with every frame', async () => {
  const stream = await create({ latency_mode: 'low', reconnect_window: 120 });
  const id = stream.playback_ids[0]!.id;
  expect((await fetch(`${server.url}/${id}.m3u8`)).status).toBe(412);

  const rules = new LiveRules();
  const first = publish(stream.stream_key);
  await untilStatus(stream, 'active');
  const assetId = (await retrieve(stream)).active_asset_id!;
  const asset = await getAsset(server, assetId);
  expect(asset).toMatchObject({ status: 'ready', is_live: true, ingest_type: 'live_rtmp', live_stream_id: stream.id });
  expect((await fetch(`${server.url}/${id}.m3u8`)).status).toBe(200);
  expect(rules.check(await playlistOf(id))).toEqual([]);
  await first.output;
  await until('its last segment is listed', async () => (await countSegments(asset)) === 3);
  expect(rules.check(await playlistOf(id))).toEqual([]);

  const second = publish(stream.stream_key);
  await until('a segment of the second session is listed', async () => (await countSegments(asset)) >= 4);
  expect(rules.check(await playlistOf(id))).toEqual([]);
  await server.kill();
  await second.output;
  await start();
  await until('the interrupted recording can be read', async () => {
    return (await fetch(`${server.url}/${id}/live/270p/playlist.m3u8`)).status === 200;
  });
  expect(rules.check(await playlistOf(id))).toEqual([]);
  const before = await countSegments(asset);

  await publish(stream.stream_key).output;
  await until('its last segment is listed', async () => (await countSegments(asset)) === before + 3);
  expect(rules.check(await playlistOf(id))).toEqual([]);
  expect((await api(server, 'PUT', `/video/v1/live-streams/${stream.id}/complete`)).status).toBe(200);
  const ended = await playlistOf(id);
  expect(rules.check(ended)).toEqual([]);
  expect(ended).toContain('#EXT-X-ENDLIST');

  await until('the recording is planned', async () => {
    return (await eventTypes(server, assetId)).includes('live_stream_completed');
  });
  expect(await eventTypes(server, assetId)).toEqual(['created', 'ready', 'live_stream_completed']);
  const recorded = (await getAsset(server, assetId)) as WireAsset & {
    recording_times: { type: string; started_at: string; duration: number }[];
  };
  expect(recorded).toMatchObject({ status: 'ready', is_live: false });
  expect(recorded.recording_times.map(({ type }) => type)).toEqual(['content', 'slate', 'content', 'slate', 'content']);
  const { init, segments } = (await playThrough(`${server.url}/${recorded.playback_ids![0]!.id}.m3u8`)).variants.at(
    -1,
  )!;
  const shown = readRgbFrames([init, ...segments.map(({ bytes }) => bytes)]);
  const counters = shown.flatMap((frame) => counterOf(frame) ?? []);
  const count = (frames: number): number[] => Array.from({ length: frames }, (_, frame) => frame);
  const interrupted = counters.length - 2 * FRAMES;
  // At most a part is lost, which has ten frames, and what FFmpeg had not sent.
  expect(interrupted).toBeGreaterThan(50);
  const [whole, cut, after] = [counters.slice(0, FRAMES), counters.slice(FRAMES, -FRAMES), counters.slice(-FRAMES)];
  expect([whole, after]).toEqual([count(FRAMES), count(FRAMES)]);
  // What was lost may include frames that are shown before the last one.
  expect(cut.slice(0, -3)).toEqual(count(interrupted - 3));
  expect(cut).toEqual(cut.toSorted((a, b) => a! - b!));
  expect(recorded.duration).toBeCloseTo(shown.length / 30, 0);

  // Clips by the clock find the sessions, which began long after each other.
  const playbackId = recorded.playback_ids![0]!.id;
  const playlist = async (query: string): Promise<string> =>
    (await fetch(`${server.url}/${playbackId}.m3u8?${query}`)).text();
  const clips = new Set<string>();
  let recordedSeconds = 0;
  for (const { started_at: startedAt, duration, type } of recorded.recording_times) {
    const atSeconds = recordedSeconds;
    recordedSeconds += duration;
    if (type === 'slate') continue;
    // The slate before may end within the first frame.
    const startSeconds = Date.parse(startedAt) / 1000 + 0.1;
    const clip = await playlist(`program_start_time=${startSeconds}&program_end_time=${startSeconds + 1}`);
    expect(clip).toBe(await playlist(`asset_start_time=${atSeconds + 0.1}&asset_end_time=${atSeconds + 0.9}`));
    clips.add(clip);
  }
  expect(clips.size).toBe(3);
  const firstSeconds = Date.parse(recorded.recording_times[0]!.started_at) / 1000;
  const query = `program_start_time=${firstSeconds - 0.2}&program_end_time=${firstSeconds - 0.1}`;
  const nothing = await fetch(`${server.url}/${playbackId}.m3u8?${query}`);
  expect([nothing.status, await nothing.text()]).toEqual([
    ...[400, expect.stringContaining('Invalid parameter: program_start_time')],
  ]);
});

test('segments and parts of what is on air decode to each frame once', async () => {
  const stream = await create({ latency_mode: 'low', reconnect_window: 60 });
  await publish(stream.stream_key).output;
  const id = stream.playback_ids[0]!.id;
  await untilStatus(stream, 'active');
  const asset = await getAsset(server, (await retrieve(stream)).active_asset_id!);
  await until('its last segment is listed', async () => (await countSegments(asset)) === 3);
  const read = async (name: string): Promise<Buffer> =>
    Buffer.from(await (await fetch(`${server.url}/${id}/live/270p/${name}`)).arrayBuffer());
  const parts = await Promise.all([0, 1, 2, 3, 4, 5].map((part) => read(`2.${part}.m4s`)));
  const segments = await Promise.all(['1.m4s', '2.m4s', '3.m4s'].map(read));
  expect(Buffer.concat(parts)).toEqual(segments[1]);
  const counters = readFrameCounters([await read('init-1.mp4'), ...segments]).map(({ counter }) => counter);
  expect(counters).toEqual(Array.from({ length: FRAMES }, (_, frame) => frame));
  for (const frame of [0, 59, 60, 75, 179]) {
    const time = (frame + 0.5) / 30;
    const image = await fetch(`${server.url}/${asset.playback_ids![0]!.id}/thumbnail.png?time=${time}`);
    expect(counterOf(readRgbFrames([Buffer.from(await image.arrayBuffer())])[0]!)).toBe(frame);
  }
  expect((await api(server, 'DELETE', `/video/v1/live-streams/${stream.id}`)).status).toBe(204);
  expect((await fetch(`${server.url}/${id}.m3u8`)).status).toBe(404);
});

test('events of a broadcast come in the order of its states', async () => {
  const stream = await create({ latency_mode: 'low' });
  await publish(stream.stream_key).output;
  await until('it has ended', async () => (await eventTypes(server, stream.id)).includes('video.live_stream.idle'));
  expect(await eventTypes(server, stream.id)).toEqual(
    ['created', 'connected', 'recording', 'active', 'disconnected', 'idle'].map((name) => `video.live_stream.${name}`),
  );
});

test('encoders are refused with a reason: unknown keys, disabled streams, a second encoder', async () => {
  const stream = await create({ latency_mode: 'low' });
  expect(await publish('no-such-key').output).toContain('No live stream has this stream key.');
  const running = await publishForever(`rtmp://127.0.0.1:${rtmpPort}/app/${stream.stream_key}`);
  publishers.push(running);
  await untilStatus(stream, 'active');
  expect(await publish(stream.stream_key).output).toContain('Another encoder is sending to this live stream.');
  expect((await api(server, 'PUT', `/video/v1/live-streams/${stream.id}/disable`)).status).toBe(200);
  await running.output;
  expect((await retrieve(stream)).status).toBe('disabled');
  expect(await publish(stream.stream_key).output).toContain('The live stream is disabled.');
  expect(server.logText()).not.toContain(stream.stream_key);
});
