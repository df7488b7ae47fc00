/** Encoders stop anywhere: players see the end of a broadcast whatever its last segment has. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import Mux from '@mux/mux-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ffmpegPath } from '../support/media/ffmpeg-command.js';
import { fixture } from '../support/media/fixtures.js';
import { readTags, type Tag } from '../support/media/flv-packets.js';
import { publishTags } from '../support/media/publish-tags.js';
import { useBrowser } from '../support/players/browser.js';
import { freePort } from '../support/servers/free-port.js';
import { cleanUpServers, makeDataDir, type ServerProcess, startServer } from '../support/servers/server-process.js';

const browser = useBrowser();
/** Of the fixture. */
const LOOP_SECONDS = 20;
const ENDED = 'The live stream has ended.';
const dataDir = makeDataDir();
let server: ServerProcess;
let rtmpPort: number;
let mux: Mux;
let loop: readonly Tag[];

beforeAll(async () => {
  rtmpPort = await freePort();
  const options = { RTMP_PORT: String(rtmpPort), LIVE_RUNGS: '0' };
  server = await startServer({ dataDir, options });
  mux = new Mux({ baseURL: server.url, tokenId: server.token.id, tokenSecret: server.token.secret });
  loop = await tagsOf({ video: LOOP_SECONDS, audio: LOOP_SECONDS });
});
afterAll(() => cleanUpServers());

/** Groups of pictures have two seconds. */
const GROUP_MS = 2000;
const [AUDIO, VIDEO] = [8, 9] as const;

/** The first seconds of video and of audio of the fixture, as encoders send them. */
const tagsOf = async ({ video, audio }: { video: number; audio: number }): Promise<Tag[]> => {
  const source = await fixture('long.mp4');
  const file = join(dataDir, `${video}-${audio}.flv`);
  const inputs = ['-t', String(video), '-i', source, '-t', String(audio), '-i', source];
  execFileSync(ffmpegPath!, ['-v', 'error', ...inputs, '-map', '0:v', '-map', '1:a', '-c', 'copy', file]);
  return readTags(file);
};
const endOf = (tags: readonly Tag[], typeId: number): number =>
  Math.max(...tags.filter((tag) => tag.typeId === typeId).map(({ ms }) => ms));

/** Sends in real time, again and again until it is told to end. Then it ends as `last` does. */
class Encoder {
  /** When `last` begins. */
  endsFromMs = Number.POSITIVE_INFINITY;
  #sentMs = 0;

  constructor(
    private readonly loop: readonly Tag[],
    private readonly last: readonly Tag[],
  ) {}

  end(): void {
    this.endsFromMs = Math.ceil(this.#sentMs / GROUP_MS) * GROUP_MS;
  }

  async *tags(): AsyncGenerator<Tag> {
    const startedMs = performance.now();
    const ends = new Map([AUDIO, VIDEO].map((typeId): [number, number] => [typeId, endOf(this.last, typeId)]));
    for (let loopMs = 0; ; loopMs += LOOP_SECONDS * 1000)
      for (const tag of this.loop) {
        const ms = loopMs + tag.ms;
        if (ms > this.endsFromMs + Math.max(...ends.values())) return;
        if (ms > this.endsFromMs + (ends.get(tag.typeId) ?? 0)) continue;
        await pause(startedMs + ms - performance.now());
        this.#sentMs = ms;
        yield { ...tag, ms };
      }
  }
}

test.each([
  ['audio has nothing in the last segment', { video: 6.4, audio: 5.95 }],
  ['the last segment has one frame', { video: 5.95, audio: 6.2 }],
  ['audio ends seconds earlier', { video: 8, audio: 5 }],
])('pages show the end when %s', async (_name, seconds) => {
  const encoder = new Encoder(loop, await tagsOf(seconds));
  const stream = await mux.video.liveStreams.create({
    playback_policies: ['public'],
    new_asset_settings: { playback_policies: ['public'] },
    latency_mode: 'low',
    reconnect_window: 0,
  });
  const published = publishTags(rtmpPort, stream.stream_key, encoder.tags());
  const retrieve = () => mux.video.liveStreams.retrieve(stream.id);
  await expect.poll(async () => (await retrieve()).status, { timeout: 120_000 }).toBe('active');
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
  encoder.end();
  await published;
  await Promise.all(pages.map((page) => page.getByText(ENDED).waitFor()));
  const { ended, currentTime } = await pages[1]!.evaluate(() => {
    const video = document.querySelector('video')!;
    return { ended: video.ended, currentTime: video.currentTime };
  });
  expect(ended).toBe(true);
  expect(currentTime).toBeGreaterThan(encoder.endsFromMs / 1000 + Math.min(seconds.video, 5.9));
});
