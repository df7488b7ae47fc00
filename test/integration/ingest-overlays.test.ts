import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Booted, boot } from '../support/boot.js';
import { createAsset, serveFiles, settled } from '../support/create-asset.js';
import { fixture } from '../support/fixtures.js';
import { readLuma } from '../support/measure.js';
import type { Origin } from '../support/origin.js';
import { playThrough } from '../support/play-through.js';
import { writePng } from '../support/png.js';

let server: Booted;
let origin: Origin;
let folder: string;
const FILES = { video: 0, sound: 1, image: 2, text: 3 };
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kinora-overlay-'));
  const [image, text] = [join(folder, 'logo'), join(folder, 'text.png')];
  await writeFile(
    image,
    writePng(32, 32, () => [255, 255, 255, 255]),
  );
  await writeFile(text, 'no image');
  origin = await serveFiles([await fixture('h264-aac.mp4'), await fixture('audio-only.mp3'), image, text]);
  server = await boot();
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
  await rm(folder, { recursive: true, force: true });
});

const settle = async (inputs: readonly object[]) => {
  const asset = await createAsset(server, { inputs, playback_policies: ['public'] });
  return settled(server, asset.id, 60_000);
};
const url = (file: keyof typeof FILES) => `${origin.url}/${FILES[file]}`;
/** The whole lower half. */
const settings = { width: '100%', height: '50%', vertical_align: 'bottom' };

test('an image lies over the picture in every rendition, which is then no copy', async () => {
  const asset = await settle([{ url: url('video') }, { url: url('image'), overlay_settings: settings }]);
  expect(asset.errors).toBeUndefined();
  const played = await playThrough(`${server.url}/${asset.playback_ids![0]!.id}.m3u8`);
  expect(played.variants.length).toBeGreaterThan(0);
  for (const variant of played.variants) {
    const pictures = readLuma([variant.init, ...variant.segments.map(({ bytes }) => bytes)]);
    expect(pictures.length).toBeGreaterThan(100);
    for (const { luma, width, height } of pictures) {
      const lower = luma.subarray(Math.ceil(height * 0.52) * width);
      expect(Math.min(...lower)).toBeGreaterThan(225);
    }
  }
});

test('sound alone ignores overlays, even bad ones', async () => {
  const asset = await settle([{ url: url('sound') }, { url: url('text'), overlay_settings: settings }]);
  expect(asset.errors).toBeUndefined();
  expect(asset.status).toBe('ready');
});

test.each([
  ['that is none', () => url('text')],
  ['that is not there', () => `${origin.url}/missing`],
])('an image %s fails the asset', async (_, address) => {
  const asset = await settle([{ url: url('video') }, { url: address(), overlay_settings: settings }]);
  expect(asset.errors).toEqual({ type: 'invalid_input', messages: ['The overlay image could not be used.'] });
});
