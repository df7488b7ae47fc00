/** A browser broadcasts by WebRTC: its picture and sound arrive in players and in the recording. */
import { execFileSync } from 'node:child_process';
import Mux from '@mux/mux-node';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ffmpegPath } from '../support/media/ffmpeg-command.js';
import { useBrowser } from '../support/players/browser.js';
import {
  cleanUpServers,
  makeDataDir,
  type ServerProcess,
  startServer,
  until,
} from '../support/servers/server-process.js';

const browser = useBrowser(() => ['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream']);
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

test('a browser broadcasts, and its recording has picture and sound', { timeout: 120_000 }, async () => {
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
  await viewer.waitForFunction(() => (document.querySelector('video')?.currentTime ?? 0) > 3);
  expect(await viewer.evaluate(() => document.querySelector('video')!.videoHeight)).toBeGreaterThanOrEqual(180);

  const ended = await page.evaluate(async () => {
    const { connection } = window as unknown as { connection: string };
    return (await fetch(connection, { method: 'DELETE' })).status;
  });
  expect(ended).toBe(200);
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
