/** A live stream whose key frames are too far apart: a page plays what replaces the recording. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeMedia } from '../support/media/fixture-media.js';
import { useBrowser } from '../support/players/browser.js';
import { readFrames } from '../support/players/chromium.js';
import { type Publisher, startPublisher } from '../support/processes/publisher.js';
import { freePort } from '../support/servers/free-port.js';
import { cleanUpServers, makeDataDir, type ServerProcess, startServer } from '../support/servers/server-process.js';
import { api } from '../support/wire/create-asset.js';

const SECONDS = 24;
const RATE = 30;
/** Three segments after the recorded one. */
const LAST_FRAME = 450;
const dir = mkdtempSync(join(tmpdir(), 'kinora-live-encoded-'));
const file = join(dir, 'long-gop.flv');
let server: ServerProcess;
let rtmpPort: number;
let publisher: Publisher | undefined;

beforeAll(async () => {
  writeMedia(
    {
      muxer: 'flv',
      seconds: SECONDS,
      video: {
        encoder: 'libx264',
        width: 320,
        height: 180,
        rate: [RATE, 1],
        gop: 300,
        bFrames: 2,
        options: { preset: 'veryfast', crf: '30', 'x264-params': 'scenecut=0:threads=1' },
      },
      audio: { encoder: 'aac', sampleRate: 48_000, channels: 2, bitRate: 96_000 },
    },
    file,
  );
  rtmpPort = await freePort();
  server = await startServer({
    dataDir: makeDataDir(),
    options: { RTMP_PORT: String(rtmpPort), LIVE_RUNGS: '0' },
  });
});
afterAll(async () => {
  publisher?.process.kill('SIGKILL');
  await cleanUpServers();
  rmSync(dir, { recursive: true, force: true });
});
const browser = useBrowser();

test('a page plays on where encoded segments follow recorded ones', async () => {
  const settings = { playback_policies: ['public'], latency_mode: 'low', reconnect_window: 600 };
  const response = await api(server, 'POST', '/video/v1/live-streams', settings);
  const { data } = (await response.json()) as {
    data: { stream_key: string; playback_ids: { id: string }[] };
  };
  const id = data.playback_ids[0]!.id;
  // A page that is open plays from the beginning, before what is encoded.
  const { page, watched } = await browser.open({ expected: /./, viewport: { width: 320, height: 180 } });
  await page.goto(`${server.url}/${id}?muted`);
  publisher = startPublisher(`rtmp://127.0.0.1:${rtmpPort}/app/${data.stream_key}`, ['-re', '-i', file, '-c', 'copy']);
  await page.waitForFunction(() => (document.querySelector('video')?.readyState ?? 0) > 2);
  await readFrames(page);
  await page.waitForFunction((last) => window.playedFrames.some(({ counter }) => counter > last), LAST_FRAME, {
    timeout: 120_000,
  });
  const frames = await page.evaluate(() => window.playedFrames);
  const first = frames[0]!;
  for (const { counter, mediaSeconds } of frames) {
    expect(counter).toBeGreaterThanOrEqual(0);
    expect(Math.abs(mediaSeconds - first.mediaSeconds - (counter - first.counter) / RATE)).toBeLessThan(0.02);
  }
  const inits = watched.requested.filter((url) => /270p\/init-\d+\.mp4/.test(url)).map((url) => url.split('/').at(-1));
  expect(new Set(inits).size).toBe(2);
});
