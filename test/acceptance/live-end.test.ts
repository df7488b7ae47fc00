/** Encoders stop anywhere: players see the end of a broadcast whatever its last segment has. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import Mux from '@mux/mux-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ffmpegPath } from '../support/media/ffmpeg-command.js';
import { fixture } from '../support/media/fixtures.js';
import { useBrowser } from '../support/players/browser.js';
import { startPublisher } from '../support/processes/publisher.js';
import { freePort } from '../support/servers/free-port.js';
import { cleanUpServers, makeDataDir, type ServerProcess, startServer } from '../support/servers/server-process.js';

const browser = useBrowser();
const ENDED = 'The live stream has ended.';
const dataDir = makeDataDir();
let server: ServerProcess;
let rtmpPort: number;
let mux: Mux;

beforeAll(async () => {
  rtmpPort = await freePort();
  const options = { RTMP_PORT: String(rtmpPort), LIVE_RUNGS: '0' };
  server = await startServer({ dataDir, options });
  mux = new Mux({ baseURL: server.url, tokenId: server.token.id, tokenSecret: server.token.secret });
});
afterAll(() => cleanUpServers());

// Groups of pictures have two seconds.
test.each([
  ['audio has nothing in the last segment', { video: 6.4, audio: 5.95 }],
  ['the last segment has one frame', { video: 5.95, audio: 6.2 }],
  ['audio ends seconds earlier', { video: 8, audio: 5 }],
])('pages show the end when %s', { timeout: 120_000 }, async (_name, seconds) => {
  const source = await fixture('long.mp4');
  const file = join(dataDir, `${seconds.video}.flv`);
  const inputs = ['-t', String(seconds.video), '-i', source, '-t', String(seconds.audio), '-i', source];
  execFileSync(ffmpegPath!, ['-v', 'error', ...inputs, '-map', '0:v', '-map', '1:a', '-c', 'copy', file]);
  const stream = await mux.video.liveStreams.create({
    playback_policies: ['public'],
    new_asset_settings: { playback_policies: ['public'] },
    latency_mode: 'low',
    reconnect_window: 0,
  });
  const publisher = startPublisher(`rtmp://127.0.0.1:${rtmpPort}/app/${stream.stream_key}`, [
    '-re',
    '-i',
    file,
    '-c',
    'copy',
  ]);
  const retrieve = () => mux.video.liveStreams.retrieve(stream.id);
  await expect.poll(async () => (await retrieve()).status, { timeout: 30_000 }).toBe('active');
  const asset = await mux.video.assets.retrieve((await retrieve()).active_asset_id!);
  const ids = [stream.playback_ids![0]!.id, asset.playback_ids![0]!.id];
  const pages = await Promise.all(
    ids.map(async (id) => {
      const { page } = await browser.open();
      await page.goto(`${server.url}/${id}?muted`);
      await page.waitForFunction(() => document.querySelector('video')!.currentTime > 0);
      return page;
    }),
  );
  await publisher.output;
  await Promise.all(pages.map((page) => page.getByText(ENDED).waitFor({ timeout: 60_000 })));
  const { ended, currentTime } = await pages[1]!.evaluate(() => {
    const video = document.querySelector('video')!;
    return { ended: video.ended, currentTime: video.currentTime };
  });
  expect(ended).toBe(true);
  expect(currentTime).toBeGreaterThan(Math.min(seconds.video, 5.9));
});
