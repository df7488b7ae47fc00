/** Browsers broadcast by WebRTC: picture and sound arrive in players and in the recording. */
import { execFileSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import Mux from '@mux/mux-node';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ffmpegPath } from '../support/media/ffmpeg-command.js';
import { useBrowser } from '../support/players/browser.js';
import { hasPostgres, startPostgres } from '../support/servers/postgres.js';
import { makeBucket } from '../support/servers/s3-bucket.js';
import {
  cleanUpServers,
  makeDataDir,
  type ServerProcess,
  startServer,
  until,
} from '../support/servers/server-process.js';
import { startSwift, swiftCredentials, swiftPath } from '../support/servers/swift.js';
import { api } from '../support/wire/create-asset.js';
import { eventTypes } from '../support/wire/events.js';

const browser = useBrowser(() => ['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream']);
interface WireLive {
  readonly status: string;
  readonly active_asset_id?: string;
}

let server: ServerProcess;
let mux: Mux;

beforeAll(async () => {
  server = await startServer({
    dataDir: makeDataDir(),
    options: { RTMP_PORT: 'off', LIVE_RUNGS: '0', WHIP_PORTS: '42000-42999', WHIP_ADDRESSES: '203.0.113.7' },
  });
  mux = new Mux({ baseURL: server.url, tokenId: server.token.id, tokenSecret: server.token.secret, maxRetries: 0 });
});
afterAll(() => cleanUpServers());

const create = () =>
  mux.video.liveStreams.create({
    playback_policies: ['public'],
    new_asset_settings: { playback_policies: ['public'] },
    latency_mode: 'low',
    reconnect_window: 0,
  });

/** The status of the server's answer; the connection stays open if it is 201. */
const publish = (page: Page, path: string, headers: Record<string, string> = {}): Promise<number> =>
  page.evaluate(
    async ({ path, headers }) => {
      const media = await navigator.mediaDevices.getUserMedia({
        video: { width: 640, height: 360, frameRate: 30 },
        audio: true,
      });
      const peer = new RTCPeerConnection();
      for (const track of media.getTracks()) peer.addTransceiver(track, { direction: 'sendonly', streams: [media] });
      await peer.setLocalDescription();
      await new Promise<void>((resolve) => {
        if (peer.iceGatheringState === 'complete') resolve();
        else peer.addEventListener('icegatheringstatechange', () => peer.iceGatheringState === 'complete' && resolve());
      });
      const response = await fetch(path, {
        method: 'POST',
        headers: { 'content-type': 'application/sdp', ...headers },
        body: peer.localDescription!.sdp,
      });
      if (response.status !== 201) return response.status;
      const sdp = await response.text();
      await peer.setRemoteDescription({ type: 'answer', sdp });
      Object.assign(window, { peer, sdp, connection: response.headers.get('location') });
      return response.status;
    },
    { path, headers },
  );

/** The status of the response to DELETE. */
const endConnection = async (page: Page, url: string): Promise<number> => {
  const connection = await page.evaluate(() => (window as unknown as { connection: string }).connection);
  return (await fetch(url + connection, { method: 'DELETE' })).status;
};

test('a browser broadcasts, and its recording has picture and sound', async () => {
  const { page } = await browser.open({ expected: /404|409|401/ });
  await page.goto(`${server.url}/console/login`);
  const stream = await create();
  expect(await publish(page, '/whip/no-such-key')).toBe(404);
  expect(await publish(page, '/whip')).toBe(401);
  expect(await publish(page, `/whip/${stream.stream_key}`)).toBe(201);
  expect(await publish(page, '/whip', { authorization: `Bearer ${stream.stream_key}` })).toBe(409);
  const candidates = (await page.evaluate(() => (window as unknown as { sdp: string }).sdp)).match(
    /^a=candidate:.*/gm,
  )!;
  expect(candidates.some((line) => line.includes(' 203.0.113.7 '))).toBe(true);
  for (const line of candidates) expect(line).toMatch(/ 42\d{3} typ host/);
  const retrieve = () => mux.video.liveStreams.retrieve(stream.id);
  await until('the live stream is active', async () => (await retrieve()).status === 'active', 30_000);
  const { active_asset_id: assetId } = await retrieve();

  const { page: viewer } = await browser.open();
  await viewer.goto(`${server.url}/${stream.playback_ids![0]!.id}?muted`);
  // Players seek to the live edge before they have a frame.
  await viewer.waitForFunction(() => {
    const video = document.querySelector('video');
    return video && video.currentTime > 3 && video.videoHeight >= 180;
  });

  expect(await endConnection(page, server.url)).toBe(200);
  await until('the recording is planned', async () => (await mux.video.assets.retrieve(assetId!)).tracks?.length === 2);
  await until('the stream is idle', async () => (await retrieve()).status === 'idle');
  const asset = await mux.video.assets.retrieve(assetId!);
  expect(asset.ingest_type as string).toBe('live_whip');
  const url = `${server.url}/${asset.playback_ids![0]!.id}.m3u8`;
  const decode = (...output: string[]) =>
    execFileSync(ffmpegPath!, ['-v', 'error', '-i', url, ...output, '-'], { maxBuffer: 2 ** 28 });
  const frames = decode('-map', '0:v', '-f', 'framehash')
    .toString()
    .split('\n')
    .filter((line) => /^0,/.test(line)).length;
  expect(frames / asset.duration!).toBeGreaterThan(10);
  const samples = decode('-map', '0:a', '-ac', '1', '-ar', '48000', '-f', 's16le');
  expect(samples.length / 2 / 48_000).toBeCloseTo(asset.duration!, 0);
  // The fake microphone beeps.
  const loud = new Int16Array(new Uint8Array(samples).buffer).filter((sample) => Math.abs(sample) > 1000).length;
  expect(loud).toBeGreaterThan(1000);
  expect(server.output()).not.toContain(stream.stream_key);
});

test('a browser stays connected when the server itself stood still for longer than encoders may be silent', async () => {
  const { page } = await browser.open({ expected: /404|401/ });
  await page.goto(`${server.url}/console/login`);
  const stream = await create();
  expect(await publish(page, `/whip/${stream.stream_key}`)).toBe(201);
  const status = async () => (await mux.video.liveStreams.retrieve(stream.id)).status;
  await until('the live stream is active', async () => (await status()) === 'active');
  server.signal('SIGSTOP');
  await delay(11_000);
  server.signal('SIGCONT');
  // Silence is looked for every half a second.
  await delay(2000);
  expect(await endConnection(page, server.url)).toBe(200);
});

test.runIf(swiftPath !== undefined && hasPostgres())(
  'with several servers, each takes offers, continues the broadcast of another one, and ends its connections',
  async () => {
    const [swift, postgres] = await Promise.all([startSwift(), startPostgres()]);
    try {
      await makeBucket(swift.settings('whip'));
      const options = {
        DATABASE_URL: await postgres.createDatabase('whip'),
        BLOBS: 's3://whip/kinora',
        S3_ENDPOINT: swift.url,
        S3_ACCESS_KEY_ID: swiftCredentials.accessKeyId,
        S3_SECRET_ACCESS_KEY: swiftCredentials.secretAccessKey,
        MEDIA_PROCESSES: '1',
        LIVE_RUNGS: '0',
        RTMP_PORT: 'off',
        SRT_PORT: 'off',
      };
      const start = () => startServer({ dataDir: makeDataDir(), options });
      const [first, second] = [await start(), await start()];
      const settings = { playback_policies: ['public'], new_asset_settings: { playback_policies: ['public'] } };
      const created = await api(first, 'POST', '/video/v1/live-streams', { ...settings, reconnect_window: 60 });
      const { id, stream_key: key } = ((await created.json()) as { data: { id: string; stream_key: string } }).data;
      const retrieve = async () =>
        ((await (await api(first, 'GET', `/video/v1/live-streams/${id}`)).json()) as { data: WireLive }).data;
      const told = async () =>
        (await eventTypes(second, id)).filter((type) => type === 'video.live_stream.disconnected').length;

      const { page } = await browser.open({ expected: /401|404/ });
      await page.goto(`${first.url}/console/login`);
      expect(await publish(page, `/whip/${key}`)).toBe(201);
      await until('the live stream is active', async () => (await retrieve()).status === 'active');
      const { active_asset_id: assetId } = await retrieve();
      expect(await endConnection(page, second.url)).toBe(200);
      expect(await endConnection(page, second.url)).toBe(404);
      await until('the first connection has ended', async () => (await told()) === 1);

      await page.goto(`${second.url}/console/login`);
      expect(await publish(page, `/whip/${key}`)).toBe(201);
      await until('the live stream is active again', async () => (await retrieve()).status === 'active');
      expect((await retrieve()).active_asset_id).toBe(assetId);
      expect(await endConnection(page, first.url)).toBe(200);
      await until('the second connection has ended', async () => (await told()) === 2);
    } finally {
      await cleanUpServers();
      await postgres.stop();
      await swift.close();
    }
  },
);
