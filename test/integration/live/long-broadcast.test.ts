import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ffmpegPath } from '../../support/media/ffmpeg-command.js';
import { readSentPackets, type SentPacket } from '../../support/media/sent-packets.js';
import { LiveRules } from '../../support/players/live-rules.js';
import { startPublisher } from '../../support/processes/publisher.js';
import { freePort } from '../../support/servers/free-port.js';
import {
  cleanUpServers,
  makeDataDir,
  type ServerProcess,
  startServer,
  until,
} from '../../support/servers/server-process.js';
import { api, getAsset } from '../../support/wire/create-asset.js';

/** Four sessions make an hour. */
const SESSIONS = 4;
const SESSION_SECONDS = 900;
/** Times real time: the server refuses encoders that send many segments a second. */
const SPEED = 75;
/** Of AAC at 24 kHz, which costs less than 48 kHz. */
const AUDIO_FRAME_MS = 1024 / 24;

let root: string;
let file: string;
let server: ServerProcess;
let rtmpPort: number;
const dataDir = makeDataDir();

const start = async (): Promise<void> => {
  server = await startServer({ dataDir, options: { RTMP_PORT: String(rtmpPort), LIVE_RUNGS: '0' } });
};

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'kinora-long-broadcast-'));
  file = join(root, 'session.flv');
  const video = ['-f', 'lavfi', '-i', 'testsrc2=size=128x72:rate=10'];
  const audio = ['-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=24000'];
  // Small: a busy machine may have all of a session in memory before it has created the asset.
  const h264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-crf', '40'];
  const frames = ['-g', '100', '-bf', '2', '-pix_fmt', 'yuv420p'];
  const args = [
    ...video,
    ...audio,
    '-t',
    String(SESSION_SECONDS),
    ...h264,
    ...frames,
    '-c:a',
    'aac',
    '-aac_coder',
    'fast',
    '-b:a',
    '32k',
    file,
  ];
  execFileSync(ffmpegPath!, ['-v', 'error', ...args]);
  rtmpPort = await freePort();
  await start();
});
afterAll(async () => {
  await cleanUpServers();
  rmSync(root, { recursive: true, force: true });
});

const read = async (path: string): Promise<Buffer> => {
  const response = await fetch(new URL(path, server.url));
  expect(response.status, path).toBe(200);
  return Buffer.from(await response.arrayBuffer());
};
const data = async <T>(path: string): Promise<T> =>
  ((await (await api(server, 'GET', `/video/v1${path}`)).json()) as { data: T }).data;

/** The packets that a rendition lists, whose playlist is `path`. */
const listedPackets = async (path: string): Promise<SentPacket[]> => {
  const playlist = String(await read(path));
  const map = /#EXT-X-MAP:URI="([^"]+)"/.exec(playlist)![1]!;
  const names = playlist.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const chunks = [];
  for (const name of [map, ...names]) chunks.push(await read(new URL(name, new URL(path, server.url)).pathname));
  const joined = join(root, 'listed.mp4');
  writeFileSync(joined, Buffer.concat(chunks));
  const { video, audio } = await readSentPackets(joined);
  return [...video, ...audio];
};

const times = (packets: readonly SentPacket[]): number[] =>
  packets.map(({ dtsMs, compositionMs }) => Math.round(dtsMs + compositionMs));

/** Each session as it was sent, on one timeline. */
const expectSessions = (listed: { video: SentPacket[]; audio: SentPacket[] }, sent: typeof listed): void => {
  const digests = (packets: readonly SentPacket[]): string[] => packets.map(({ digest }) => digest);
  const repeated = (packets: readonly SentPacket[]): string[] => Array(SESSIONS).fill(digests(packets)).flat();
  expect(digests(listed.video)).toEqual(repeated(sent.video));
  expect(digests(listed.audio)).toEqual(repeated(sent.audio));
  const shown = times(sent.video);
  const heard = times(sent.audio);
  const sessionAt = (packets: readonly SentPacket[], session: number, length: number): number[] =>
    times(packets.slice(session * length, (session + 1) * length));
  for (let session = 0; session < SESSIONS; session += 1) {
    const video = sessionAt(listed.video, session, sent.video.length);
    const audio = sessionAt(listed.audio, session, sent.audio.length);
    const shift = video[0]! - shown[0]!;
    // FLV has whole milliseconds.
    expect(Math.max(...video.map((ms, index) => Math.abs(ms - shown[index]! - shift)))).toBeLessThanOrEqual(1);
    const drift = audio.map((ms, index) => ms - heard[index]! - shift);
    expect(Math.max(...drift) - Math.min(...drift)).toBeLessThanOrEqual(2);
    expect(Math.abs(drift[0]!)).toBeLessThanOrEqual(AUDIO_FRAME_MS);
  }
  const all = times(listed.video).toSorted((a, b) => a - b);
  const gaps = all.slice(1).map((ms, index) => ms - all[index]!);
  expect(Math.min(...gaps)).toBeGreaterThan(95);
  expect(Math.max(...gaps)).toBeLessThan(100 + 2 * AUDIO_FRAME_MS);
};

test('an hour with three reconnects has every frame once, at its time, live and afterwards', async () => {
  const policies = { playback_policies: ['public'] };
  // Without a slate, sessions are joined.
  const body = { ...policies, new_asset_settings: policies, latency_mode: 'standard', reconnect_window: 600 };
  const response = await api(server, 'POST', '/video/v1/live-streams', body);
  const created = (await response.json()) as {
    data: { id: string; stream_key: string; playback_ids: { id: string }[] };
  };
  const { id, stream_key: key, playback_ids: playbackIds } = created.data;
  const livePath = `/${playbackIds[0]!.id}/live/270p/playlist.m3u8`;
  const activeAsset = async (): Promise<string | undefined> =>
    (await data<{ active_asset_id?: string }>(`/live-streams/${id}`)).active_asset_id;
  const recordedSessions = async (): Promise<number> => {
    const assetId = await activeAsset();
    if (assetId === undefined) return 0;
    const { recording_times: all = [] } = await data<{ recording_times?: { duration: number }[] }>(
      `/assets/${assetId}`,
    );
    return all.filter(({ duration }) => duration > 0).length;
  };

  const args = ['-readrate', String(SPEED), '-i', file, '-c', 'copy'];
  for (let session = 1; session <= SESSIONS; session += 1) {
    const publisher = startPublisher(`rtmp://127.0.0.1:${rtmpPort}/app/${key}`, args);
    let isRunning = true;
    const ended = publisher.output.then(() => {
      isRunning = false;
    });
    // The window moves so fast that playlists may have nothing in common: each is checked alone.
    while (isRunning) {
      const live = await fetch(new URL(livePath, server.url));
      if (live.status === 200) expect(new LiveRules().check(await live.text())).toEqual([]);
      else await live.body?.cancel();
      await pause(50);
    }
    await ended;
    await until(`session ${session} is recorded`, async () => (await recordedSessions()) === session);
  }
  const { video, audio } = await readSentPackets(file);
  // A session begins with its first frame of video.
  const startMs = Math.min(...times(video));
  const sent = { video, audio: audio.filter((packet) => packet.dtsMs >= startMs - 1) };
  const assetId = (await activeAsset())!;
  const playbackId = (await getAsset(server, assetId)).playback_ids![0]!.id;
  const dvr = (name: string): string => `/${playbackId}/live/${name}/playlist.m3u8`;
  expect(new LiveRules().check(String(await read(dvr('270p'))))).toEqual([]);
  const live = { video: await listedPackets(dvr('270p')), audio: await listedPackets(dvr('audio')) };
  expectSessions(live, sent);

  const listed = await read(`/${playbackId}.m3u8`);
  expect(await server.stop()).toBe(0);
  await start();
  await until('the recording plays again', async () => (await fetch(`${server.url}/${playbackId}.m3u8`)).ok);
  expect(await read(`/${playbackId}.m3u8`)).toEqual(listed);
  expect(await listedPackets(dvr('270p'))).toEqual(live.video);

  // Of a segment that lists no parts any more.
  const still = `/${playbackId}/thumbnail.png?time=101.3`;
  const stillWhileLive = await read(still);
  const past = await fetch(`${server.url}/${playbackId}/live/270p/playlist.m3u8?clip=program_1_2`);
  expect([past.status, await past.text()]).toEqual([400, expect.stringContaining('nothing of the clip')]);

  await api(server, 'PUT', `/video/v1/live-streams/${id}/complete`);
  await until(
    'the recording is planned',
    async () => !(await data<{ is_live?: boolean }>(`/assets/${assetId}`)).is_live,
  );
  const multivariant = String(await read(`/${playbackId}.m3u8`)).split('\n');
  const videoPath = multivariant[multivariant.findIndex((line) => line.startsWith('#EXT-X-STREAM-INF')) + 1]!;
  const audioPath = /TYPE=AUDIO.*URI="([^"]+)"/.exec(multivariant.join('\n'))![1]!;
  const pathOf = (uri: string): string => new URL(uri, new URL(`/${playbackId}.m3u8`, server.url)).pathname;
  const asset = { video: await listedPackets(pathOf(videoPath)), audio: await listedPackets(pathOf(audioPath)) };
  expectSessions(asset, sent);
  expect(await getAsset(server, assetId)).toMatchObject({
    status: 'ready',
    duration: expect.closeTo(SESSIONS * SESSION_SECONDS, 0),
  });
  expect((await read(still)).equals(stillWhileLive)).toBe(true);
});
