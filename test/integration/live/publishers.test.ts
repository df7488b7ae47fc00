/**
 * What encoders may send: each frame is once in the playlists of the broadcast and in the asset, at
 * its time, and the asset is an ordinary one.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { IngestPacket } from '#kinora/live/ingest.js';
import { withoutTemporalDelimiters } from '#kinora/media/codecs/av1.js';
import { writeMedia } from '../../support/media/fixture-media.js';
import type { AudioRecipe, MediaRecipe, VideoRecipe } from '../../support/media/fixture-recipe.js';
import { leaveRealTime } from '../../support/media/fixtures.js';
import { packetsOfTags, readTags, shiftTags, type Tag } from '../../support/media/flv-packets.js';
import { counterOf, readRgbFrames } from '../../support/media/measure.js';
import { publishFile } from '../../support/media/publish-file.js';
import { publishTags } from '../../support/media/publish-tags.js';
import { readSentPackets } from '../../support/media/sent-packets.js';
import { parseLivePlaylist } from '../../support/players/live-playlist.js';
import { LiveRules } from '../../support/players/live-rules.js';
import { playThrough, readMultivariant } from '../../support/players/play-through.js';
import { type Publisher, startPublisher } from '../../support/processes/publisher.js';
import { freePort } from '../../support/servers/free-port.js';
import {
  cleanUpServers,
  makeDataDir,
  type ServerProcess,
  startServer,
  until,
} from '../../support/servers/server-process.js';
import { api, getAsset } from '../../support/wire/create-asset.js';
import { eventsOf } from '../../support/wire/events.js';

const dataDir = makeDataDir();
const publishers: Publisher[] = [];
let root: string;
let server: ServerProcess;
let rtmpPort: number;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'kinora-publishers-'));
  rtmpPort = await freePort();
  server = await startServer({ dataDir, options: { RTMP_PORT: String(rtmpPort), LIVE_RUNGS: '0' } });
});
afterAll(async () => {
  for (const { process } of publishers) process.kill('SIGKILL');
  await cleanUpServers();
  rmSync(root, { recursive: true, force: true });
});

const h264: VideoRecipe = {
  encoder: 'libx264',
  width: 320,
  height: 180,
  rate: [30, 1],
  gop: 60,
  bFrames: 2,
  options: { preset: 'veryfast', crf: '30', 'x264-params': 'scenecut=0:open-gop=0:threads=1' },
};
const openGops = { ...h264.options, 'x264-params': 'scenecut=0:open-gop=1:threads=1' };
const hevc: VideoRecipe = {
  ...h264,
  encoder: 'libx265',
  options: { preset: 'ultrafast', 'x265-params': 'log-level=none:pools=none:frame-threads=1:open-gop=0:scenecut=0' },
};
const av1: VideoRecipe = { ...h264, encoder: 'libsvtav1', bFrames: 0, options: { preset: '12', crf: '40' } };
const aac: AudioRecipe = { encoder: 'aac', sampleRate: 48_000, channels: 2, bitRate: 96_000 };

type Recipe = Omit<MediaRecipe, 'muxer'>;

const make = (name: string, recipe: Recipe): string => {
  const path = join(root, `${name}.flv`);
  writeMedia({ muxer: 'flv', ...recipe }, path);
  if (recipe.video?.encoder === 'libsvtav1') leaveRealTime();
  return path;
};

const withSystemFfmpeg = async (path: string, key: string): Promise<void> => {
  const publisher = startPublisher(`rtmp://127.0.0.1:${rtmpPort}/app/${key}`, ['-re', '-i', path, '-c', 'copy']);
  publishers.push(publisher);
  await publisher.output;
};
const withNewerFfmpeg = (path: string, key: string): Promise<void> =>
  publishFile(path, `rtmp://127.0.0.1:${rtmpPort}/app/${key}`);

interface WireLiveStream {
  readonly id: string;
  readonly stream_key: string;
  readonly recent_asset_ids?: readonly string[];
  readonly playback_ids: readonly { readonly id: string }[];
}

const create = async (latencyMode: string): Promise<WireLiveStream> => {
  const response = await api(server, 'POST', '/video/v1/live-streams', {
    playback_policies: ['public'],
    new_asset_settings: { playback_policies: ['public'] },
    latency_mode: latencyMode,
    reconnect_window: 1800,
  });
  return ((await response.json()) as { data: WireLiveStream }).data;
};
const assetOf = async ({ id }: WireLiveStream) => {
  const response = await api(server, 'GET', `/video/v1/live-streams/${id}`);
  const { data } = (await response.json()) as { data: WireLiveStream & { active_asset_id?: string } };
  return data.active_asset_id ?? data.recent_asset_ids?.[0];
};

/** Reads the media playlists of a playback ID by the rules of HLS until it is stopped. */
class Watcher {
  readonly problems: string[] = [];
  private readonly rules = new Map<string, LiveRules>();

  constructor(private readonly playbackId: string) {}

  async look(): Promise<void> {
    const url = `${server.url}/${this.playbackId}.m3u8`;
    if ((await fetch(url)).status !== 200) return;
    const { variants, audio } = await readMultivariant(url);
    for (const { url: child } of audio ? [...variants, audio] : variants) {
      const response = await fetch(child);
      // Nothing of a rendition may be there yet.
      if (response.status !== 200) continue;
      const rules = this.rules.get(child) ?? new LiveRules();
      this.rules.set(child, rules);
      const found = rules.check(await response.text()).map((problem) => `${child}: ${problem}`);
      // Segments of rungs that were made on request have none.
      this.problems.push(...found.filter((problem) => !problem.endsWith('has no parts')));
    }
  }

  async watch(until: Promise<unknown>): Promise<void> {
    let isOver = false;
    const over = until.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      await this.look();
      await Promise.race([over, sleep(400)]);
    }
    await over;
    await this.look();
  }
}

const get = async (url: string | URL): Promise<Buffer> => Buffer.from(await (await fetch(url)).arrayBuffer());

/** The segments of a rendition, behind each of its init segments. */
const readRendition = async (url: string): Promise<Buffer[][]> => {
  const { segments } = parseLivePlaylist((await get(url)).toString());
  const runs: Buffer[][] = [];
  let map: string | undefined;
  for (const { uri, map: wanted, parts } of segments) {
    if (map !== wanted) runs.push([await get(new URL(wanted!, url))]);
    map = wanted;
    for (const name of uri === undefined ? parts.map((part) => part.uri) : [uri])
      runs.at(-1)!.push(await get(new URL(name, url)));
  }
  return runs;
};

/** Of the frames that encoders sent: the slate that follows has no counters. */
const countersOf = (runs: readonly Buffer[][]): number[] =>
  runs.flatMap((run) => readRgbFrames(run).flatMap((frame) => counterOf(frame) ?? []));
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const digest = (bytes: Uint8Array): string => createHash('md5').update(bytes).digest('hex');
const framesOf = <Kind extends 'video' | 'audio'>(packets: readonly IngestPacket[], kind: Kind) =>
  packets.filter((packet): packet is Extract<IngestPacket, { kind: Kind }> => packet.kind === kind);

/** What encoders round, and the grid of the recording. */
const TOLERANCE_MS = 2.1;

/** Without what samples may not have. */
const sampleOf = (data: Uint8Array, codec: string | undefined): Uint8Array =>
  codec === 'av1' ? withoutTemporalDelimiters(data) : data;

/**
 * Compares the stored file with what was sent: bytes exactly, times within each run of the
 * encoder's clock. Audio before the first frame of video has no place.
 */
const expectRecorded = async (assetId: string, runs: readonly (readonly Tag[])[]): Promise<void> => {
  const recorded = await readSentPackets(join(dataDir, 'blobs', 'assets', assetId, 'source'));
  const isNear = (is: number, was: number, what: string): void =>
    expect(Math.abs(is - was), what).toBeLessThanOrEqual(TOLERANCE_MS);
  for (const tags of runs) {
    const sent = packetsOfTags(tags);
    const codec = sent.find((packet) => packet.kind === 'video-config')?.config.codec;
    const video = framesOf(sent, 'video').map((frame) => ({ ...frame, ms: frame.dtsMs + frame.compositionMs }));
    const startMs = video[0]?.ms ?? Number.NEGATIVE_INFINITY;
    const audio = framesOf(sent, 'audio').filter(({ dtsMs }) => dtsMs >= startMs);
    const shown = recorded.video
      .splice(0, video.length)
      .map((packet) => ({ ...packet, ms: packet.dtsMs + packet.compositionMs }));
    const heard = recorded.audio.splice(0, audio.length);
    expect(shown.map((packet) => packet.digest)).toEqual(video.map(({ data }) => digest(sampleOf(data, codec))));
    expect(heard.map((packet) => packet.digest)).toEqual(audio.map(({ data }) => digest(data)));
    for (const [at, { ms }] of video.entries()) isNear(shown[at]!.ms - shown[0]!.ms, ms - video[0]!.ms, `frame ${at}`);
    for (const [at, { dtsMs }] of audio.entries())
      isNear(heard[at]!.dtsMs - heard[0]!.dtsMs, dtsMs - audio[0]!.dtsMs, `audio ${at}`);
    if (video[0] && audio[0])
      isNear(heard[0]!.dtsMs - shown[0]!.ms, audio[0].dtsMs - video[0].ms, 'audio beside video');
  }
  expect(recorded).toEqual({ video: [], audio: [] });
};

interface Expected {
  readonly frames: number;
  /** Names of the renditions on air. */
  readonly renditions: readonly string[];
  /** Of `video.asset.warning`. */
  readonly warnings?: readonly RegExp[];
}

const check = async (
  latencyMode: string,
  runs: readonly (readonly Tag[])[],
  publish: (key: string) => Promise<unknown>,
  { frames, renditions, warnings = [] }: Expected,
): Promise<void> => {
  const stream = await create(latencyMode);
  const watcher = new Watcher(stream.playback_ids[0]!.id);
  await watcher.watch(publish(stream.stream_key));
  await until('the recording exists', async () => (await assetOf(stream)) !== undefined);
  const assetId = (await assetOf(stream))!;
  const { playback_ids: ids } = await getAsset(server, assetId);
  const url = `${server.url}/${ids![0]!.id}.m3u8`;
  await until('it can be played', async () => (await fetch(url)).status === 200);

  const onAir = await readMultivariant(url);
  const nameOf = (child: string): string => child.split('/').at(-2)!;
  const all = [...new Map([...onAir.variants, ...onAir.audioGroup].map((each) => [nameOf(each.url), each.url]))];
  expect(all.map(([name]) => name).sort()).toEqual([...renditions].sort());
  await until('the encoder has left', async () => {
    return (await eventsOf(server, stream.id)).some(({ type }) => type === 'video.live_stream.disconnected');
  });
  const listed = async () =>
    Promise.all(all.map(async ([, child]) => parseLivePlaylist((await get(child)).toString()).segments));
  // The slate goes on, so the last segment is seldom complete. A rung may still be encoded.
  const last = Math.max(...(await listed()).map((segments) => segments.at(-1)!.number));
  await until('all renditions are complete', async () =>
    (await listed()).every((segments) => segments.some(({ number, uri }) => number === last && uri !== undefined)),
  );
  for (const [name, child] of all)
    if (name !== 'audio') expect(countersOf(await readRendition(child)), name).toEqual(upTo(frames));
  await watcher.look();
  expect(watcher.problems).toEqual([]);

  expect((await api(server, 'PUT', `/video/v1/live-streams/${stream.id}/complete`)).status).toBe(200);
  await until('the recording is planned', async () => {
    return (await eventsOf(server, assetId)).some(({ type }) => type === 'video.asset.live_stream_completed');
  });
  await expectRecorded(assetId, runs);
  expect(await getAsset(server, assetId)).toMatchObject({ status: 'ready', is_live: false });
  const played = await playThrough(url);
  for (const variant of played.variants.filter(({ attributes }) => attributes.RESOLUTION))
    expect(countersOf([[variant.init, ...variant.segments.map(({ bytes }) => bytes)]])).toEqual(upTo(frames));
  const hasAudio = played.audio !== undefined || played.variants[0]!.attributes.RESOLUTION === undefined;
  expect(hasAudio).toBe(renditions.includes('audio'));
  const told = (await eventsOf(server, assetId)).filter(({ type }) => type === 'video.asset.warning');
  const texts = told.map(({ data }) => JSON.stringify(data));
  expect(texts).toHaveLength(warnings.length);
  for (const [index, text] of texts.entries()) expect(text).toMatch(warnings[index]!);
};

describe.concurrent('FFmpeg of the system sends', () => {
  it.each<[string, string, Recipe, Partial<Expected>]>([
    ['B-frames, key frames every 2 s', 'low', { seconds: 6, video: h264, audio: aac }, {}],
    [
      'no B-frames, key frames every second, 25 frames a second, mono with 44.1 kHz',
      'low',
      {
        seconds: 5,
        video: { ...h264, bFrames: 0, gop: 25, rate: [25, 1] },
        audio: { ...aac, sampleRate: 44_100, channels: 1 },
      },
      { frames: 125 },
    ],
    ['key frames every 4 s', 'low', { seconds: 8, video: { ...h264, gop: 120 }, audio: aac }, {}],
    ['the same in mode reduced', 'reduced', { seconds: 8, video: h264, audio: aac }, {}],
    [
      'key frames every 10 s',
      'low',
      { seconds: 12, video: { ...h264, gop: 300 }, audio: aac },
      { warnings: [/no key frame for more than 4 s/] },
    ],
    ['audio alone', 'low', { seconds: 6, audio: aac }, { renditions: ['audio'], frames: 0 }],
    ['video alone', 'low', { seconds: 4, video: h264 }, { renditions: ['270p'] }],
    ['audio 3 s late', 'low', { seconds: 6, video: h264, audio: { ...aac, startSeconds: 3, seconds: 3 } }, {}],
    [
      'open GOPs',
      'low',
      { seconds: 6, video: { ...h264, options: openGops }, audio: aac },
      { warnings: [/groups of pictures are open/] },
    ],
    [
      '4:2:2 with 10 bits',
      'low',
      { seconds: 4, video: { ...h264, filter: 'format=yuv422p10le' }, audio: aac },
      { warnings: [/H\.264 profile 122/] },
    ],
  ])('%s', async (name, latencyMode, recipe, expected) => {
    const path = make(name.replaceAll(/\W+/g, '-'), recipe);
    await check(latencyMode, [readTags(path)], (key) => withSystemFfmpeg(path, key), {
      frames: recipe.seconds * 30,
      renditions: ['270p', 'audio'],
      ...expected,
    });
  });
});

// These send from this process: while another test decodes, nothing is sent, and the server would
// take them for silent.
describe('FFmpeg 8 sends', () => {
  it.each<[string, Recipe, Partial<Expected>]>([
    ['H.264', { seconds: 4, video: h264, audio: { ...aac, sampleRate: 44_100 } }, {}],
    [
      'HEVC',
      { seconds: 4, video: hevc, audio: aac },
      { renditions: ['270p', '270p-hevc', 'audio'], warnings: [/the codec is HEVC/] },
    ],
    [
      'AV1',
      { seconds: 4, video: av1, audio: aac },
      { renditions: ['270p', '270p-av1', 'audio'], warnings: [/the codec is AV1/] },
    ],
  ])('%s', async (name, recipe, expected) => {
    const path = make(`newer-${name}`, recipe);
    await check('low', [readTags(path)], (key) => withNewerFfmpeg(path, key), {
      frames: recipe.seconds * 30,
      renditions: ['270p', 'audio'],
      ...expected,
    });
  });
});

describe('an encoder', () => {
  const session = (name: string, recipe: Partial<Recipe>): Tag[] =>
    readTags(make(name, { seconds: 4, video: h264, audio: aac, ...recipe }));
  const withoutAudio = { audio: undefined };

  it('sends another size in the same connection', async () => {
    const large = { video: { ...h264, width: 640, height: 360 }, firstCounter: 120, ...withoutAudio };
    const tags = [
      ...session('audio', { seconds: 8, video: undefined }),
      ...session('small', withoutAudio),
      ...shiftTags(session('large', large), 4000),
    ].toSorted((a, b) => a.ms - b.ms);
    await check('low', [tags], (key) => publishTags(rtmpPort, key, tags), {
      frames: 240,
      renditions: ['270p', 'audio'],
    });
  });

  it('sends times that go back by a minute', async () => {
    const runs = [shiftTags(session('before', {}), 60_000), session('after', { firstCounter: 120 })];
    await check('low', runs, (key) => publishTags(rtmpPort, key, runs.flat()), {
      frames: 240,
      renditions: ['270p', 'audio'],
    });
  });
});
