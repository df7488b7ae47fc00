import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { constants, deflateRawSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { readLuma, readRgbFrames } from '../../support/media/measure.js';
import { pngChunk, writePng } from '../../support/media/png.js';
import { playThrough } from '../../support/players/play-through.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import type { Origin } from '../../support/servers/origin.js';
import { serveNamed } from '../../support/servers/text-origin.js';
import { createAsset, serveFiles, settled } from '../../support/wire/create-asset.js';

let server: Booted;
let origin: Origin;
let folder: string;
const FILES = { video: 0, audio: 1, image: 2, text: 3, portrait: 4, anamorphic: 5, grey: 6 };
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kinora-overlay-'));
  const [image, text, grey] = [join(folder, 'logo'), join(folder, 'text.png'), join(folder, 'grey')];
  await writeFile(
    image,
    writePng(32, 32, () => [255, 255, 255, 255]),
  );
  await writeFile(
    grey,
    writePng(8, 8, () => [180, 180, 180, 200]),
  );
  await writeFile(text, 'no image');
  const [video, audio] = [await fixture('h264-aac.mp4'), await fixture('audio-only.mp3')];
  const [portrait, anamorphic] = [await fixture('portrait-90.mp4'), await fixture('anamorphic.mp4')];
  origin = await serveFiles([video, audio, image, text, portrait, anamorphic, grey]);
  server = await boot();
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
  await rm(folder, { recursive: true, force: true });
});

const settle = async (inputs: readonly object[]) => {
  const asset = await createAsset(server, { inputs, playback_policies: ['public'] });
  return settled(server, asset.id);
};
const url = (file: keyof typeof FILES) => `${origin.url}/${FILES[file]}`;
/** The whole lower half. */
const settings = { width: '100%', height: '50%', vertical_align: 'bottom' };

test('an image lies over the video in every rendition, which is then no copy', async () => {
  const asset = await settle([{ url: url('video') }, { url: url('image'), overlay_settings: settings }]);
  expect(asset.errors).toBeUndefined();
  const played = await playThrough(`${server.url}/${asset.playback_ids![0]!.id}.m3u8`);
  expect(played.variants.length).toBeGreaterThan(0);
  for (const variant of played.variants) {
    const frames = readLuma([variant.init, ...variant.segments.map(({ bytes }) => bytes)]);
    expect(frames.length).toBeGreaterThan(100);
    for (const { luma, width, height } of frames) {
      const lower = luma.subarray(Math.ceil(height * 0.52) * width);
      expect(Math.min(...lower)).toBeGreaterThan(225);
    }
  }
});

const NO_IMAGE =
  'inputs[1] is not a readable PNG, JPEG, WebP or GIF image of at most 4096x4096 pixels. Subtitles and audio tracks need a type.';

test('an input that is neither text nor audio by its settings is named when it is no image', async () => {
  const asset = await settle([
    { url: url('video') },
    { url: url('image'), overlay_settings: { width: '' } },
    { url: url('text'), name: 'Subtitles', overlay_settings: {} },
  ]);
  const messages = ['The overlay image could not be used.', NO_IMAGE.replace('[1]', '[2]')];
  expect(asset.errors).toEqual({ type: 'invalid_input', messages });
});

test('audio alone ignores overlays, even bad ones', async () => {
  const asset = await settle([{ url: url('audio') }, { url: url('text'), overlay_settings: settings }]);
  expect(asset.errors).toBeUndefined();
  expect(asset.status).toBe('ready');
});

test('a file that is no image, not there, cut off, too large or a trap fails the asset with a text that names it', async () => {
  const noise = (x: number, y: number) => [(x * 31) % 256, (y * 7) % 256, (x * y) % 256, 255] as const;
  const files = await serveNamed({
    'page.png': { text: '<!doctype html><title>Not Found</title><p>The image is not here any more.' },
    'drawing.png': { text: '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"/>' },
    'nothing.png': { text: '' },
    'cut.png': { text: writePng(80, 80, noise).subarray(0, 9000) },
    'wide.png': { text: writePng(4097, 1, noise) },
    // Four gigabytes of zeros, as a color profile.
    'profile.png': { text: writePng(8, 8, noise, { color: 'rgba' }, [pngChunk('iCCP', hugeProfile())]) },
  });
  const reasons: Readonly<Record<string, string>> = {
    'nothing.png': 'inputs[1]: The input file is empty.',
    'missing.png': 'inputs[1]: The input file could not be downloaded: HTTP status 404.',
  };
  try {
    const addresses = ['page', 'drawing', 'nothing', 'cut', 'wide', 'profile', 'missing'].map(
      (name) => `${files.url}/${name}.png`,
    );
    const assets = await Promise.all(
      addresses.map((address) =>
        createAsset(server, { inputs: [{ url: url('video') }, { url: address, overlay_settings: settings }] }),
      ),
    );
    for (const [index, { id }] of assets.entries()) {
      const { errors } = await settled(server, id, 120_000);
      const why = reasons[addresses[index]!.split('/').at(-1)!] ?? NO_IMAGE;
      const expected = { type: 'invalid_input', messages: ['The overlay image could not be used.', why] };
      expect(errors, addresses[index]).toEqual(expected);
    }
  } finally {
    await files.stop();
  }
});

/**
 * Name, method and contents of a profile whose compressed text is a thousandth of what it unfolds
 * to.
 */
const hugeProfile = (): Buffer => {
  const [count, blockBytes] = [4096, 2 ** 20];
  // Compressed once: each block stands for itself.
  const block = deflateRawSync(Buffer.alloc(blockBytes), { finishFlush: constants.Z_FULL_FLUSH });
  // The Adler-32 of zeros.
  const checksum = Buffer.from([0, 0, 0, 1]);
  checksum.writeUInt16BE((count * blockBytes) % 65_521);
  const blocks = Array<Buffer>(count).fill(block);
  return Buffer.concat([Buffer.from('p\0\0'), Buffer.from([0x78, 0x9c]), ...blocks, deflateRawSync(''), checksum]);
};

interface Grey {
  readonly width: number;
  readonly height: number;
  readonly at: (x: number, y: number) => number;
}
const greyOf = (bytes: Buffer): Grey => {
  const { width, height, rgb } = readRgbFrames([bytes]).at(-1)!;
  return { width, height, at: (x, y) => [0, 1, 2].reduce((sum, c) => sum + rgb[(y * width + x) * 3 + c]! / 3, 0) };
};

/**
 * Edges of what differs much between two frames; moving edges differ a little, for they are encoded
 * twice.
 */
const differenceBox = (a: Grey, b: Grey): number[] => {
  expect([a.width, a.height]).toEqual([b.width, b.height]);
  const [xs, ys]: [number[], number[]] = [[], []];
  // Below the counter, whose sharp bars two encoders write differently.
  for (let y = Math.ceil(a.height / 10); y < a.height; y++) {
    for (let x = 0; x < a.width; x++) {
      if (Math.abs(a.at(x, y) - b.at(x, y)) < 75) continue;
      xs.push(x);
      ys.push(y);
    }
  }
  return [Math.min(...xs), Math.min(...ys), Math.max(...xs) + 1, Math.max(...ys) + 1];
};

test.each([
  // 20 % of the width, square on the frame; 10 % and 15 % from the corner.
  ['video', [0.7, 1 - 0.15 - 0.2 * (16 / 9), 0.9, 0.85]],
  ['portrait', [0.7, 1 - 0.15 - 0.2 * (9 / 16), 0.9, 0.85]],
  ['anamorphic', [0.7, 1 - 0.15 - 0.2 * (16 / 9), 0.9, 0.85]],
] as const)('an image lies within a pixel of its place in every rendition and image: %s', async (source, place) => {
  const overlay_settings = {
    width: '20%',
    horizontal_align: 'right',
    horizontal_margin: '10%',
    vertical_align: 'bottom',
    vertical_margin: '15%',
  };
  const laid = await settle([{ url: url(source) }, { url: url('image'), overlay_settings }]);
  expect(laid.errors).toBeUndefined();
  const clipped = await createAsset(server, {
    inputs: [{ url: `mux://assets/${laid.id}` }],
    playback_policies: ['public'],
    copy_overlays: false,
  });
  const plain = await settled(server, clipped.id);
  expect(plain.errors).toBeUndefined();
  const [laidId, plainId] = [laid.playback_ids![0]!.id, plain.playback_ids![0]!.id];
  const expectPlace = (box: readonly number[], { width, height }: Grey, label: string): void => {
    const expected = place.map((part, index) => part * (index % 2 === 0 ? width : height));
    box.forEach((edge, index) => {
      expect(Math.abs(edge - expected[index]!), `${label}: ${box} of ${width}x${height}`).toBeLessThanOrEqual(1);
    });
  };
  const fetched = async (id: string, file: string): Promise<Buffer> =>
    Buffer.from(await (await fetch(`${server.url}/${id}/${file}`)).arrayBuffer());
  for (const file of [
    'thumbnail.png?time=0.5',
    'thumbnail.webp?time=0.5&width=240',
    'thumbnail.jpg?time=0.5',
    'animated.gif?start=0.5&end=0.8',
  ]) {
    const [over, under] = [greyOf(await fetched(laidId, file)), greyOf(await fetched(plainId, file))];
    expectPlace(differenceBox(over, under), over, file);
  }
  // The sixth tile, which begins the second row: no second has just begun.
  const [over, under] = await Promise.all(
    [laidId, plainId].map(async (id) => greyOf(await fetched(id, 'storyboard.png'))),
  );
  const { tile_width: width, tile_height: height } = JSON.parse(String(await fetched(laidId, 'storyboard.json')));
  const tileOf = ({ at }: Grey): Grey => ({ width, height, at: (x, y) => at(x, y + height) });
  expectPlace(differenceBox(tileOf(over!), tileOf(under!)), tileOf(over!), 'storyboard');

  const [withImage, without] = await Promise.all(
    [laidId, plainId].map((id) => playThrough(`${server.url}/${id}.m3u8`)),
  );
  for (const variant of withImage!.variants) {
    const { RESOLUTION } = variant.attributes;
    const same = without!.variants.find(({ attributes }) => attributes.RESOLUTION === RESOLUTION)!;
    const frameOf = ({ init, segments }: typeof variant): Grey => {
      const { luma, ...size } = readLuma([init, segments[0]!.bytes])[15]!;
      return { ...size, at: (x, y) => luma[y * size.width + x]! };
    };
    const frame = frameOf(variant);
    expectPlace(differenceBox(frame, frameOf(same)), frame, RESOLUTION!);
  }
});

test('opacity and transparency mix in images as well, within two levels', async () => {
  const [opacity, alpha] = [0.5, 200 / 255];
  const overlay_settings = {
    width: '30%',
    height: '30%',
    horizontal_align: 'center',
    vertical_align: 'middle',
    opacity: '50%',
  };
  const asset = await settle([{ url: url('video') }, { url: url('grey'), overlay_settings }]);
  expect(asset.errors).toBeUndefined();
  const plain = await settle([{ url: url('video') }]);
  const [over, under] = await Promise.all(
    [asset, plain].map(async ({ playback_ids }) => {
      const response = await fetch(`${server.url}/${playback_ids![0]!.id}/thumbnail.png?time=0.5`);
      return greyOf(Buffer.from(await response.arrayBuffer()));
    }),
  );
  for (const [x, y] of [
    [140, 75],
    [160, 90],
    [180, 105],
  ] as const) {
    const expected = under!.at(x, y) * (1 - opacity * alpha) + 180 * opacity * alpha;
    expect(Math.abs(over!.at(x, y) - expected)).toBeLessThanOrEqual(2);
  }
});
