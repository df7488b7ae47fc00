import { afterAll, beforeAll, expect, test } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { playThrough, readMultivariant } from '../../support/players/play-through.js';
import { checkPlaylists } from '../../support/players/playback-checks.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { createAsset, serveFiles, settled } from '../../support/wire/create-asset.js';

const NAMES = ['open-gop.mp4', 'grain.mp4', 'one-key-frame.mp4', 'bit-flips-in-data.mp4', 'audio-only.m4a'] as const;
/** Of 320 x 180, bit/s, without the audio. */
const BASIC = 330_000;
const PLUS = 440_000;

let server: Booted;
let origin: Awaited<ReturnType<typeof serveFiles>>;
beforeAll(async () => {
  origin = await serveFiles(await Promise.all(NAMES.map((name) => fixture(name))));
  server = await boot();
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
});

const create = async (name: (typeof NAMES)[number], fields: object) => {
  const url = `${origin.url}/${NAMES.indexOf(name)}`;
  const { id } = await createAsset(server, { inputs: [{ url }], playback_policies: ['public'], ...fields });
  const asset = await settled(server, id);
  expect(asset.status).toBe('ready');
  return { asset, url: `${server.url}/${asset.playback_ids![0]!.id}.m3u8` };
};

/** What the largest rung promises, audio included. */
const promiseOf = async (name: (typeof NAMES)[number], fields: object): Promise<number> => {
  const { variants } = await readMultivariant((await create(name, fields)).url);
  return Math.max(...variants.map(({ attributes }) => Number(attributes.BANDWIDTH)));
};

test('plus promises less where the frames need less, and keeps the promise', async () => {
  const audio = (await promiseOf('open-gop.mp4', { video_quality: 'basic' })) - BASIC;
  const { asset, url } = await create('open-gop.mp4', { video_quality: 'plus' });
  const played = await playThrough(url);
  checkPlaylists(played, asset);
  const [promised] = played.variants.map(({ attributes }) => Number(attributes.BANDWIDTH) - audio);
  expect(promised).toBeGreaterThanOrEqual(0.35 * PLUS);
  expect(promised).toBeLessThanOrEqual(0.9 * PLUS);
  // A test asset takes the rates as they are.
  expect((await promiseOf('open-gop.mp4', { video_quality: 'plus', test: true })) - audio).toBe(PLUS);
});

test('plus promises no more than the table where the frames are hard', async () => {
  const audio = (await promiseOf('grain.mp4', { video_quality: 'basic' })) - BASIC;
  const { asset, url } = await create('grain.mp4', { video_quality: 'plus' });
  const played = await playThrough(url);
  checkPlaylists(played, asset);
  expect(Number(played.variants[0]!.attributes.BANDWIDTH) - audio).toBe(PLUS);
});

test('plus measures what has to be read from a mezzanine there', async () => {
  // Their audio is coded alike, and this one needs no mezzanine.
  const audio = (await promiseOf('open-gop.mp4', { video_quality: 'basic' })) - BASIC;
  const promised = (await promiseOf('one-key-frame.mp4', { video_quality: 'plus' })) - audio;
  expect(promised).toBeGreaterThanOrEqual(0.35 * PLUS);
  expect(promised).toBeLessThanOrEqual(0.9 * PLUS);
});

test('audio alone and damaged frames become ready in plus', async () => {
  await create('audio-only.m4a', { video_quality: 'plus' });
  const { url } = await create('bit-flips-in-data.mp4', { video_quality: 'plus' });
  expect((await readMultivariant(url)).variants.length).toBeGreaterThan(0);
});
