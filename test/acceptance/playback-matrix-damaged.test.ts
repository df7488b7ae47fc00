import { afterAll, beforeAll, expect, test } from 'vitest';
import { fixture } from '../support/media/fixtures.js';
import { countFrames, readAudio } from '../support/media/measure.js';
import { readSourceTruth } from '../support/media/source-truth.js';
import { type Played, playThrough } from '../support/players/play-through.js';
import {
  checkAudio,
  checkFrames,
  checkPlaylists,
  checkSync,
  durationOf,
  readFrames,
} from '../support/players/playback-checks.js';
import { type Booted, boot } from '../support/servers/boot.js';
import type { Origin } from '../support/servers/origin.js';
import { createAsset, serveFiles, settled, type WireAsset } from '../support/wire/create-asset.js';

const refused = {
  'truncated-without-index.mov': 'The file is damaged: its index (the moov box) is missing or cut off.',
  'garbage.mp4': 'The input file is not a valid video file.',
  'text.mp4': 'The input file is not a valid video file.',
  'hls-playlist.mp4': 'The input file is not a valid video file.',
  'concat-script.mp4': 'The file format concat is not supported.',
  'dash-manifest.mp4': 'The file format dash is not supported.',
  'png-bomb.mkv': 'The video has 12000x12000 pixels, which is more than is supported.',
  'empty.mp4': 'The input file is empty.',
} as const;
const playable = [
  'ts-concatenated.ts',
  'truncated.mp4',
  'truncated.mkv',
  'bit-flips-in-data.mp4',
  'bit-flips.ts',
  'wrong-frame-time.ts',
  'wrong-decode-time.ts',
  'wrong-audio-time.ts',
  'wrong-times.ts',
  'late-frame.mp4',
  'silence.wav',
] as const;
const names = [...(Object.keys(refused) as (keyof typeof refused)[]), ...playable, 'bit-flips-in-index.mp4'] as const;
/**
 * From the request to an answer, with the other files of this table in the queue and other programs
 * on the machine.
 */

let server: Booted;
let origin: Origin;
const assets = new Map<string, WireAsset>();
beforeAll(async () => {
  const paths: string[] = [];
  for (const name of names) paths.push(await fixture(name));
  origin = await serveFiles(paths);
  server = await boot();
  for (const [index, name] of names.entries()) {
    const inputs = [{ url: `${origin.url}/${index}` }];
    assets.set(name, await createAsset(server, { inputs, playback_policies: ['public'] }));
  }
  for (const [name, { id }] of assets) assets.set(name, await settled(server, id));
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
});

test.each(Object.entries(refused))('%s is refused', (name, message) => {
  const asset = assets.get(name)!;
  expect(asset.status).toBe('errored');
  expect(asset.errors).toEqual({ type: 'invalid_input', messages: [message] });
});

const play = async (name: (typeof playable)[number]): Promise<Played> => {
  const asset = assets.get(name)!;
  expect(asset.errors).toBeUndefined();
  expect(asset.status).toBe('ready');
  const played = await playThrough(`${server.url}/${asset.playback_ids![0]!.id}.m3u8`);
  checkPlaylists(played, asset);
  return played;
};
const countersOf = ({ variants }: Played): number[] => readFrames(variants[0]!).map(({ counter }) => counter);
const numbers = (from: number, count: number): number[] => Array.from({ length: count }, (_, index) => from + index);

test('two concatenated recordings play one after the other, each in step with its audio', async () => {
  const played = await play('ts-concatenated.ts');
  expect(countersOf(played)).toEqual([...numbers(0, 180), ...numbers(1000, 150)]);
  expect(durationOf(played.variants[0]!)).toBeGreaterThan(11);
  expect(durationOf(played.variants[0]!)).toBeLessThan(11.1);
  expect(checkSync(played.variants[0]!, played.audio!, { until: 6 })).toBe(5);
  expect(checkSync(played.variants[0]!, played.audio!, { from: 6 })).toBe(5);
});

test.each(['truncated.mp4', 'truncated.mkv'] as const)('%s plays what is there', async (name) => {
  const played = await play(name);
  const counters = countersOf(played);
  // 60 % of the bytes; frames that need one that is cut off are missing at the very end: up to
  // three B-frames.
  expect(counters.length).toBeGreaterThan(100);
  expect(counters.slice(0, 100)).toEqual(numbers(0, 100));
  expect(counters).toEqual(counters.toSorted((a, b) => a - b));
  expect(durationOf(played.variants[0]!)).toBeLessThan((counters.at(-1)! + 5) / 30);
  expect(checkSync(played.variants[0]!, played.audio!, { until: 3.3 })).toBe(3);
});

// Every player plays such files: the frames and the audio are there, only a time stamp is wrong.
test.each(['wrong-frame-time.ts', 'wrong-decode-time.ts', 'wrong-audio-time.ts', 'wrong-times.ts'] as const)(
  '%s plays like the file without damage',
  async (name) => {
    const played = await play(name);
    const truth = await readSourceTruth('h264-aac.ts');
    expect(Math.abs(assets.get(name)!.duration! - truth.durationSeconds)).toBeLessThan(2 * truth.frameSeconds);
    checkFrames(played.variants[0]!, truth);
    checkAudio(played.audio!, truth, { channels: 2 });
    expect(checkSync(played.variants[0]!, played.audio!)).toBe(5);
  },
);

test('late-frame.mp4 plays, if need be without that frame', async () => {
  const played = await play('late-frame.mp4');
  const counters = countersOf(played);
  expect(counters).toEqual(counters.toSorted((a, b) => a - b));
  expect(new Set(counters).size).toBeGreaterThanOrEqual(179);
  expect(Math.abs(durationOf(played.variants[0]!) - 6)).toBeLessThan(0.1);
  expect(checkSync(played.variants[0]!, played.audio!)).toBe(5);
});

test('bit-flips-in-index.mp4 gets an answer', async () => {
  // Which frames the flips hit, and so what can be played, depends on the encoder that made the
  // file.
  const { status, errors } = assets.get('bit-flips-in-index.mp4')!;
  if (status === 'ready')
    await playThrough(`${server.url}/${assets.get('bit-flips-in-index.mp4')!.playback_ids![0]!.id}.m3u8`);
  else expect(errors?.type).toBe('invalid_input');
});

test.each(['bit-flips-in-data.mp4', 'bit-flips.ts'] as const)('%s plays to its end', async (name) => {
  const played = await play(name);
  // What is served is valid: every frame of video and of audio can be decoded. What the frames show
  // may be damaged.
  const { init, segments } = played.variants[0]!;
  const samples = segments.reduce((sum, segment) => sum + segment.samples.length, 0);
  expect(samples).toBeGreaterThan(150);
  expect(Math.abs(durationOf(played.variants[0]!) - 6)).toBeLessThan(1);
  expect(countFrames([init, ...segments.map(({ bytes }) => bytes)])).toBe(samples);
  expect(readAudio([played.audio!.init, ...played.audio!.segments.map(({ bytes }) => bytes)]).channels).toHaveLength(2);
});
