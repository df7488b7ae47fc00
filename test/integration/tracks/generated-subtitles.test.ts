import Mux from '@mux/mux-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import type { Origin } from '../../support/servers/origin.js';
import { until } from '../../support/servers/server-process.js';
import { createAsset, getAsset, serveFiles, settled, type WireAsset } from '../../support/wire/create-asset.js';
import { eventsOf, eventTypes, toldOfAsset } from '../../support/wire/events.js';

/** Stands still an hour ahead, so that no delayed job is due before the test moves it. */
const clock = {
  nowMs: Date.now() + 3_600_000,
  now: () => new Date(clock.nowMs),
  monotonicMs: () => performance.now(),
};
let server: Booted;
let origin: Origin;

beforeAll(async () => {
  origin = await serveFiles([await fixture('h264-aac.mp4'), await fixture('video-only.mp4')]);
  server = await boot({ clock });
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
});

const TALK = 0;
const SILENT = 1;
const create = async (file: number, more: object, further: object = {}): Promise<WireAsset> => {
  const { id } = await createAsset(server, { inputs: [{ url: `${origin.url}/${file}`, ...more }], ...further });
  const asset = await settled(server, id);
  expect(asset.errors).toBeUndefined();
  return asset;
};
const texts = (asset: WireAsset) => asset.tracks!.filter(({ type }) => type === 'text');
const allErrored = (assetId: string) =>
  until('recognition was tried for every track', async () =>
    texts(await getAsset(server, assetId)).every(({ status }) => status === 'errored'),
  );

test('generated subtitles are preparing when the asset becomes ready, and change afterwards', async () => {
  const asset = await create(TALK, {
    generated_subtitles: [{ passthrough: 'p' }, { language_code: 'auto' }, { language_code: 'fr', name: 'Own' }],
  });
  const shape = {
    id: expect.any(String),
    type: 'text',
    text_type: 'subtitles',
    text_source: 'generated_vod',
    status: 'preparing',
    closed_captions: false,
  };
  const tracks = texts(asset);
  expect(tracks).toEqual([
    { ...shape, name: 'English (generated)', language_code: 'en', passthrough: 'p' },
    { ...shape, name: 'Auto-detected', language_code: 'auto' },
    { ...shape, name: 'Own', language_code: 'fr' },
  ]);
  const ready = (await eventsOf(server, asset.id)).at(-1)!;
  expect(ready).toMatchObject({ type: 'video.asset.ready', data: { tracks: asset.tracks } });
  const untilNow = ['created', 'ready', 'track.created', 'track.created', 'track.created'];
  expect(await toldOfAsset(server, asset.id)).toEqual(untilNow);

  clock.nowMs += 10_000;
  await allErrored(asset.id);
  expect(await toldOfAsset(server, asset.id)).toEqual([...untilNow, 'track.errored', 'track.errored', 'track.errored']);
  const error = { type: 'internal_error', messages: ['Speech recognition is not available.'] };
  for (const track of tracks) {
    const events = await eventsOf(server, track.id as string);
    const told = { ...track, asset_id: asset.id };
    expect(events.map(({ data }) => data)).toEqual([told, { ...told, status: 'errored', error }]);
  }
});

test('subtitles that are asked for later answer as preparing and then change', async () => {
  const asset = await create(TALK, {});
  const audioId = asset.tracks!.find(({ type }) => type === 'audio')!.id as string;
  const { id: tokenId, secret: tokenSecret } = server.token;
  const mux = new Mux({ baseURL: server.url, tokenId, tokenSecret, maxRetries: 0 });
  const made = await mux.video.assets.generateSubtitles(asset.id, audioId, {
    generated_subtitles: [{ language_code: 'en', name: 'English CC' }],
  });
  expect(made).toMatchObject([{ status: 'preparing', name: 'English CC', text_source: 'generated_vod' }]);
  await allErrored(asset.id);
  expect(await eventTypes(server, made[0]!.id!)).toEqual(['track.created', 'track.errored']);
});

test('an asset without audio is warned about subtitles that cannot be generated', async () => {
  const known = { passthrough: 'order-81', meta: { title: 'Harbor walk' } };
  const asset = await create(SILENT, { generated_subtitles: [{ language_code: 'en' }] }, known);
  expect(asset.tracks!.map(({ type }) => type)).toEqual(['video']);
  expect(await toldOfAsset(server, asset.id)).toEqual(['created', 'ready', 'warning']);
  const warning = (await eventsOf(server, asset.id)).at(-1)!;
  expect(warning.data).toEqual({
    id: asset.id,
    status: 'ready',
    ...known,
    warning: { type: 'generated_subtitles', message: 'Subtitles could not be generated: the asset has no audio.' },
  });
});
