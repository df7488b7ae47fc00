import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { counterOf, readRgbFrames } from '../../support/media/measure.js';
import { oneAfterAnother, scenes, writeScenes } from '../../support/media/scenes.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import type { Origin } from '../../support/servers/origin.js';
import { until } from '../../support/servers/server-process.js';
import { movableClock } from '../../support/servers/webhooks.js';
import { api, createAsset, getAsset, serveFiles, settled, type WireAsset } from '../../support/wire/create-asset.js';
import { eventsOf, eventTypes } from '../../support/wire/events.js';

const KNOWN = { passthrough: 'order-81', meta: { title: 'Harbor walk' } };
const DAY_MS = 24 * 3600_000;
const { chart, fractal, bars } = scenes;

interface Shots {
  readonly status: string;
  readonly shots_manifest_url?: string;
}
interface Manifest {
  readonly shots: readonly {
    readonly start_time: number;
    readonly shot_preview_image_url: string;
    readonly image_url: string;
  }[];
}

const clock = movableClock();
let server: Booted;
let origin: Origin;
let video: string;
const FILES = { cuts: 0, long: 1, portrait: 2, audio: 3 };
beforeAll(async () => {
  video = writeScenes(oneAfterAnother(chart(2.5), fractal(0.8), bars(3)));
  const paths = [video, await fixture('long.mp4'), await fixture('portrait-90.mp4'), await fixture('audio-only.m4a')];
  origin = await serveFiles(paths);
  server = await boot({ clock });
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
  rmSync(video, { force: true });
});

const shotsPath = (id: string) => `/video/v1/assets/${id}/shots`;
const getShots = async (id: string): Promise<Shots> =>
  ((await (await api(server, 'GET', shotsPath(id))).json()) as { data: Shots }).data;
const create = async (file: keyof typeof FILES, further: object = {}): Promise<WireAsset> => {
  const body = { inputs: [{ url: `${origin.url}/${FILES[file]}` }], playback_policies: ['public'], ...further };
  return settled(server, (await createAsset(server, body)).id);
};
const found = async (id: string): Promise<Shots & { url: string }> => {
  let shots = await getShots(id);
  await until('shots', async () => {
    shots = await getShots(id);
    return shots.status !== 'pending';
  });
  expect(shots.status).toBe('completed');
  return { ...shots, url: shots.shots_manifest_url! };
};
const readManifest = async (url: string): Promise<Manifest> => {
  const response = await fetch(url);
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
  return (await response.json()) as Manifest;
};
const readSheet = async (url: string) => {
  const response = await fetch(url);
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/webp']);
  return readRgbFrames([new Uint8Array(await response.arrayBuffer())])[0]!;
};

describe('the shots of an asset', () => {
  let asset: WireAsset;
  let manifest: Manifest;
  beforeAll(async () => {
    asset = await create('cuts', { generate_shots: true, ...KNOWN });
    manifest = await readManifest((await found(asset.id)).url);
  });

  test('begin at the cuts, as the asset was asked for at its creation', async () => {
    expect(manifest.shots.map(({ start_time }) => start_time)).toEqual([0, 2.5, 3.3]);
    for (const { shot_preview_image_url: url, image_url } of manifest.shots) expect(image_url).toBe(url);
    expect(await eventTypes(server, asset.id)).toEqual(['created', 'ready', 'shots.created', 'shots.ready']);
    const events = (await eventsOf(server, asset.id)).slice(2);
    expect(events.map(({ object }) => object)).toEqual(events.map(() => ({ type: 'asset', id: asset.id })));
    expect(events[0]!.data).toEqual({ status: 'pending', created_at: expect.any(String), ...KNOWN });
    expect(events[1]!.data).toMatchObject({ status: 'completed', ...KNOWN });
    const { shots_manifest_url: url } = events[1]!.data as unknown as Shots;
    expect((await readManifest(url!)).shots).toHaveLength(3);
    const shown = await getAsset(server, asset.id);
    expect(shown.generate_shots).toBe(true);
    expect(shown.shots).toMatchObject({ status: 'completed', shots_manifest_url: expect.any(String) });
  });

  test('have sheets of a frame a second, of the shot alone', async () => {
    const sizes = [];
    for (const { image_url } of manifest.shots) {
      const { width, height } = await readSheet(image_url);
      sizes.push([width, height]);
    }
    // 2.5 s, 0.8 s and 3 s; 16:9 in tiles of 256 pixels.
    expect(sizes).toEqual([
      [512, 144],
      [256, 144],
      [768, 144],
    ]);
    const { rgb, width } = await readSheet(manifest.shots[2]!.image_url);
    // The first tile is as good as the others: none shows the shot before.
    for (let tile = 1; tile < 3; tile += 1)
      for (const [x, y] of [
        [20, 20],
        [128, 60],
        [230, 30],
      ] as const) {
        const at = (left: number) => (y * width + left + x) * 3;
        for (const channel of [0, 1, 2])
          expect(Math.abs(rgb[at(0) + channel]! - rgb[at(256 * tile) + channel]!)).toBeLessThan(12);
      }
  });

  test('are shown by signed addresses only, for a day', async () => {
    const { url } = await found(asset.id);
    const image = manifest.shots[1]!.image_url;
    const refused = [
      url.replace(/sig=.{4}/, 'sig=AAAA'),
      url.replace(/&sig=.*/, ''),
      url.replace(/expires=\d+/, `expires=${Math.ceil(Date.now() / 1000) + 999_999}`),
      image.replace('1.webp', '2.webp'),
      image.replace('1.webp', 'manifest.json'),
    ];
    for (const address of refused) {
      const response = await fetch(address);
      expect([response.status, await response.json()]).toEqual([403, { code: 7, message: 'Signature is invalid' }]);
    }
    expect((await fetch(url.replace(asset.id, 'x'.repeat(40)))).status).toBe(404);
    clock.aheadMs += DAY_MS + 60_000;
    for (const address of [url, image]) {
      const response = await fetch(address);
      expect([response.status, await response.json()]).toEqual([403, { code: 7, message: 'Signature has expired' }]);
    }
    const renewed = await readManifest((await getShots(asset.id)).shots_manifest_url!);
    expect((await fetch(renewed.shots[0]!.image_url)).status).toBe(200);
  });

  test('can be removed and asked for again, at other addresses', async () => {
    const { url } = await found(asset.id);
    expect((await api(server, 'DELETE', shotsPath(asset.id))).status).toBe(204);
    expect((await fetch(url)).status).toBe(404);
    expect((await api(server, 'POST', shotsPath(asset.id))).status).toBe(201);
    const again = await found(asset.id);
    expect((await fetch(url)).status).toBe(403);
    expect((await readManifest(again.url)).shots).toHaveLength(3);
    expect((await eventTypes(server, asset.id)).slice(2)).toEqual([
      ...['shots.created', 'shots.ready', 'shots.deleted', 'shots.created', 'shots.ready'],
    ]);
    expect((await api(server, 'DELETE', `/video/v1/assets/${asset.id}`)).status).toBe(204);
    expect((await fetch(again.url)).status).toBe(404);
  });
});

test('a long shot has rows of ten frames, each of its second', async () => {
  const asset = await create('long');
  await api(server, 'POST', shotsPath(asset.id));
  const { shots } = await readManifest((await found(asset.id)).url);
  expect(shots.map(({ start_time }) => start_time)).toEqual([0]);
  const sheet = await readSheet(shots[0]!.image_url);
  expect([sheet.width, sheet.height]).toEqual([2560, 288]);
  for (const tile of [0, 1, 9, 10, 19]) {
    const rgb = Buffer.alloc(256 * 144 * 3);
    const [left, top] = [(tile % 10) * 256, Math.floor(tile / 10) * 144];
    for (let y = 0; y < 144; y += 1) {
      const from = ((top + y) * sheet.width + left) * 3;
      sheet.rgb.copy(rgb, y * 256 * 3, from, from + 256 * 3);
    }
    expect(counterOf({ width: 256, height: 144, rgb }), `tile ${tile}`).toBe(tile * 30);
  }
});

test('an upright asset has upright tiles of the same width', async () => {
  const asset = await create('portrait', { generate_shots: true });
  const { shots } = await readManifest((await found(asset.id)).url);
  const sheet = await readSheet(shots[0]!.image_url);
  expect([sheet.width, sheet.height]).toEqual([256 * 6, 456]);
});

test('audio alone has none', async () => {
  const { id } = await create('audio', { generate_shots: true });
  expect(await getShots(id)).toEqual({ status: 'skipped', created_at: expect.any(String) });
  expect(await eventTypes(server, id)).toEqual(['created', 'ready', 'shots.created', 'shots.skipped']);
});

test('what fails is told', async () => {
  const { id } = await create('cuts', KNOWN);
  rmSync(`${server.dataDir}/blobs/assets/${id}/source`);
  await api(server, 'POST', shotsPath(id));
  await until('an error', async () => (await getShots(id)).status === 'errored');
  expect(await getShots(id)).toMatchObject({
    errors: { type: 'internal_error', messages: ['The shots could not be detected.'] },
  });
  expect((await eventTypes(server, id)).slice(2)).toEqual(['shots.created', 'shots.errored']);
  expect((await eventsOf(server, id))[3]!.data).toMatchObject({ status: 'errored', ...KNOWN });
  expect((await getAsset(server, id)).status).toBe('ready');
});
