import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FixtureName, fixture } from '../../support/media/fixtures.js';
import { playAll } from '../../support/players/play.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { type SlowOrigin, startSlowOrigin } from '../../support/servers/slow-origin.js';
import { api, createAsset, settled, type WireAsset } from '../../support/wire/create-asset.js';
import { eventsOf } from '../../support/wire/events.js';

let server: Booted;
let origin: SlowOrigin;
beforeAll(async () => {
  origin = await startSlowOrigin();
  server = await boot();
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
});

/** The asset made of a fixture, `ready` or `errored`. */
const ingest = async (name: FixtureName): Promise<WireAsset> => {
  const url = origin.add(name, await readFile(await fixture(name)));
  const { id } = await createAsset(server, { inputs: [{ url }], playback_policies: ['public'], passthrough: 'mine' });
  return settled(server, id);
};

const inputFile = async (id: string): Promise<unknown> => {
  const response = await api(server, 'GET', `/video/v1/assets/${id}/input-info`);
  return ((await response.json()) as { data: { file?: unknown }[] }).data[0]!.file;
};

const dataOf = async (id: string, type: string): Promise<Record<string, unknown>[]> =>
  (await eventsOf(server, id)).filter((event) => event.type === type).map(({ data }) => data);

describe('a file of which nothing can be played', () => {
  it('is refused with the name of its codec, which its input info shows as well', async () => {
    const asset = await ingest('unknown-codec.mp4');
    const errors = { type: 'invalid_input', messages: ['The video codec zzzz is not supported.'] };
    expect(asset).toMatchObject({ status: 'errored', errors });
    expect(await dataOf(asset.id, 'video.asset.errored')).toMatchObject([{ errors }]);
    expect(await inputFile(asset.id)).toEqual({
      container_format: 'mov,mp4,m4a,3gp,3g2,mj2',
      tracks: [{ type: 'video', duration: 6, encoding: 'zzzz' }],
    });
  });

  it('is refused with the name of its format, which its input info shows as well', async () => {
    const asset = await ingest('image.png');
    expect(asset.errors).toEqual({
      type: 'invalid_input',
      messages: ['The file format png_pipe is not supported.'],
    });
    expect(await inputFile(asset.id)).toEqual({ container_format: 'png_pipe', tracks: [] });
  });

  it('is refused with the damage that was found in it', async () => {
    const asset = await ingest('truncated-without-index.mov');
    const messages = ['The file is damaged: its index (the moov box) is missing or cut off.'];
    const errors = { type: 'invalid_input', messages };
    expect(asset).toMatchObject({ status: 'errored', errors });
    expect(await dataOf(asset.id, 'video.asset.errored')).toMatchObject([{ errors }]);
  });
});

describe('a file of which a part can be played', () => {
  it.each([
    ['unknown-audio-codec.mov', ['video'], 'The audio stream 1 was left out. The audio codec zzzz is not supported.'],
    ['unknown-video-codec.mp4', ['audio'], 'The video stream 0 was left out. The video codec zzzz is not supported.'],
    ['two-videos.mp4', ['video'], 'The video stream 1 was left out. Only one video stream of a file is used.'],
  ] as const)('%s is played, and a warning tells what is left out and why', async (name, types, message) => {
    const asset = await ingest(name);
    expect(asset.status).toBe('ready');
    expect(asset.tracks!.map(({ type }) => type)).toEqual(types);
    expect(await dataOf(asset.id, 'video.asset.warning')).toMatchObject([
      { id: asset.id, status: 'ready', passthrough: 'mine', warning: { type: 'stream_dropped', message } },
    ]);
    expect(Object.keys(await playAll(server.url, asset.playback_ids![0]!.id)).length).toBeGreaterThan(1);
  });
});

describe('a file of an unusual format', () => {
  it.each([
    ['h264-amr.3gp', ['video', 'audio']],
    ['animation.webp', ['video']],
    ['raw.dv', ['video', 'audio']],
    ['audio-only.amr', ['audio']],
  ] as const)('%s is played whole, without a warning', async (name, types) => {
    const asset = await ingest(name);
    expect(asset.errors).toBeUndefined();
    expect(asset.tracks!.map(({ type }) => type)).toEqual(types);
    expect(await dataOf(asset.id, 'video.asset.warning')).toEqual([]);
    expect(Object.keys(await playAll(server.url, asset.playback_ids![0]!.id)).length).toBeGreaterThan(1);
  });
});
