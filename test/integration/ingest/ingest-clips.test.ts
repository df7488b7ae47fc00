import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { counterOf, readRgbFrames } from '../../support/media/measure.js';
import { readSourceTruth } from '../../support/media/source-truth.js';
import { playThrough } from '../../support/players/play-through.js';
import { beepTimes, checkPlaylists, checkSync, durationOf, readFrames } from '../../support/players/playback-checks.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import type { Origin } from '../../support/servers/origin.js';
import { api, createAsset, serveFiles, settled, type WireAsset } from '../../support/wire/create-asset.js';

const SOURCES = [
  'h264-aac.mp4',
  'ts-concatenated.ts',
  'audio-only.mp3',
  'vp9-opus.webm',
  'slides.mp4',
  'audio-longer.mp4',
] as const;

let server: Booted;
let origin: Origin;
const sources = new Map<string, WireAsset>();
const create = async (input: object, further: object = {}): Promise<WireAsset> => {
  const asset = await createAsset(server, { inputs: [input], playback_policies: ['public'], ...further });
  return settled(server, asset.id);
};
const clip = (of: WireAsset, times: object, further: object = {}) =>
  create({ url: `mux://assets/${of.id}`, ...times }, further);
const play = async (asset: WireAsset) => {
  expect(asset.errors).toBeUndefined();
  const played = await playThrough(`${server.url}/${asset.playback_ids![0]!.id}.m3u8`);
  checkPlaylists(played, asset);
  return played;
};
const counters = (played: Awaited<ReturnType<typeof play>>, variant = 0) =>
  readFrames(played.variants[variant]!).map(({ counter }) => counter);
const range = (from: number, end: number) => Array.from({ length: end - from }, (_, index) => from + index);

beforeAll(async () => {
  const paths: string[] = [];
  for (const name of SOURCES) paths.push(await fixture(name));
  origin = await serveFiles(paths);
  server = await boot();
  for (const [index, name] of SOURCES.entries()) sources.set(name, await create({ url: `${origin.url}/${index}` }));
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
});

describe('a clip', () => {
  test.each([
    [{ start_time: 1.5, end_time: 4 }, 45, 120],
    // Within a frame: that frame is the first one, and the one that has begun at the end is the
    // last.
    [{ start_time: 1.51, end_time: 3.99 }, 45, 120],
    [{ start_time: 5 }, 150, 180],
    [{ end_time: 0.5 }, 0, 15],
    [{ start_time: 2, end_time: 99 }, 60, 180],
  ])('%o shows exactly the frames of that time, in every rendition', async (times, from, end) => {
    const source = sources.get('h264-aac.mp4')!;
    const asset = await clip(source, times);
    expect(asset).toMatchObject({ ingest_type: 'on_demand_clip', source_asset_id: source.id });
    expect(asset.non_standard_input_reasons).toBeUndefined();
    const played = await play(asset);
    for (const variant of played.variants.keys()) expect(counters(played, variant)).toEqual(range(from, end));
    expect(Math.abs(durationOf(played.variants[0]!) - (end - from) / 30)).toBeLessThan(0.05);
    expect(Math.abs(asset.duration! - durationOf(played.variants[0]!))).toBeLessThan(0.002);
  });

  test('keeps video and audio in step', async () => {
    const played = await play(await clip(sources.get('h264-aac.mp4')!, { start_time: 1.5, end_time: 5.5 }));
    expect(checkSync(played.variants[0]!, played.audio!)).toBeGreaterThanOrEqual(3);
  });

  test('of a clip counts its times from the start of that clip', async () => {
    const first = await clip(sources.get('h264-aac.mp4')!, { start_time: 1, end_time: 5 });
    const second = await create({ url: `kinora://assets/${first.id}`, start_time: 1, end_time: 2.5 });
    expect(second.source_asset_id).toBe(first.id);
    expect(counters(await play(second))).toEqual(range(60, 105));
  });

  test('of concatenated recordings reaches over the join', async () => {
    const played = await play(await clip(sources.get('ts-concatenated.ts')!, { start_time: 5.025, end_time: 7.025 }));
    const shown = counters(played);
    // The second recording begins a little late, beside its audio.
    expect(shown.slice(0, 59)).toEqual([...range(150, 180), ...range(1000, 1029)]);
  });

  test('within a frame that is shown for long begins with that frame, and with the audio of its own time', async () => {
    // 0 to 1.5 s, to 2.7 s, to 4.5 s, to 6 s.
    const source = sources.get('slides.mp4')!;
    const truth = (await readSourceTruth('slides.mp4')).frames;
    const displayedAt = (seconds: number) => truth.findLast((frame) => frame.seconds <= seconds + 1e-4)!.counter;
    const asset = await clip(source, { start_time: 2.2, end_time: 5.2 });
    const played = await play(asset);
    expect(Math.abs(asset.duration! - 3)).toBeLessThan(0.01);
    const frames = readFrames(played.variants[0]!);
    // The last one is repeated just before the end.
    expect(frames.map(({ counter }) => counter)).toEqual([2.2, 3, 5, 5, 5, 5].map(displayedAt));
    expect(frames.map(({ ptsSeconds }) => Math.round(ptsSeconds * 10) / 10)).toEqual([0, 0.5, 2.3, 2.9, 2.9, 3]);
    const imageAt = async (time: number) => {
      const response = await fetch(`${server.url}/${asset.playback_ids![0]!.id}/thumbnail.png?time=${time}`);
      return counterOf(readRgbFrames([Buffer.from(await response.arrayBuffer())])[0]!);
    };
    expect([await imageAt(0), await imageAt(0.4), await imageAt(0.6), await imageAt(2.5)]).toEqual(
      [2.2, 2.6, 2.8, 4.7].map(displayedAt),
    );
    // Of 3, 4 and 5 s.
    expect(beepTimes(played.audio!).map((seconds) => Math.round(seconds * 10) / 10)).toEqual([0.8, 1.8, 2.8]);

    // Nothing but the held frame, for several segments.
    const held = await clip(sources.get('audio-longer.mp4')!, { start_time: 4.8 });
    expect(Math.abs(held.duration! - (sources.get('audio-longer.mp4')!.duration! - 4.8))).toBeLessThan(0.03);
    const last = (await readSourceTruth('audio-longer.mp4')).frames.at(-1)!.counter;
    expect(new Set(counters(await play(held)))).toEqual(new Set([last]));
  });

  test('of another codec, and of audio alone', async () => {
    expect(counters(await play(await clip(sources.get('vp9-opus.webm')!, { start_time: 2, end_time: 3 })))).toEqual(
      range(60, 90),
    );
    const audio = await clip(sources.get('audio-only.mp3')!, { start_time: 3, end_time: 7.5 });
    expect(Math.abs(audio.duration! - 4.5)).toBeLessThan(0.03);
    expect((await play(audio)).variants).toHaveLength(1);
  });

  test('may be a test asset and have its own quality', async () => {
    const asset = await clip(sources.get('h264-aac.mp4')!, { start_time: 1 }, { test: true, video_quality: 'premium' });
    expect(asset).toMatchObject({ test: true, video_quality: 'premium' });
  });
});

test('the files of a source stay until its last clip is gone', async () => {
  const source = await create({ url: `${origin.url}/0` });
  const first = await clip(source, { start_time: 1, end_time: 3 });
  const second = await clip(first, { start_time: 0.5, end_time: 1.5 });
  const folder = join(server.dataDir, 'blobs', 'assets', source.id);
  const remove = async ({ id }: WireAsset) =>
    expect((await api(server, 'DELETE', `/video/v1/assets/${id}`)).status).toBe(204);
  await remove(source);
  await remove(first);
  // What was cached goes with the assets, so this is made from the file.
  expect(counters(await play(second))).toEqual(range(45, 75));
  expect(existsSync(folder)).toBe(true);
  await remove(second);
  await vi.waitFor(() => expect(existsSync(folder) && readdirSync(folder).length > 0).toBe(false), {
    timeout: 120_000,
    interval: 200,
  });
});
