import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import {
  probeFile,
  readAudio,
  readExactFrames,
  readFrameCounters,
  readPackets,
  readRgbFrames,
} from '../../support/media/measure.js';
import { fetchBytes } from '../../support/players/play.js';
import { playThrough } from '../../support/players/play-through.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import type { Origin } from '../../support/servers/origin.js';
import { filesBelow, until } from '../../support/servers/server-process.js';
import { api, createAsset, getAsset, serveFiles, type WireAsset } from '../../support/wire/create-asset.js';
import { eventsOf, filesOf, type WireFile, withFiles } from '../../support/wire/static-renditions.js';

const SOURCES = [
  'h264-640x400.mp4',
  'portrait-90.mp4',
  'anamorphic.mp4',
  'video-only.mp4',
  'audio-only.mp3',
  'vfr.mkv',
  'garbage.mp4',
] as const;

let server: Booted;
let origin: Origin;
beforeAll(async () => {
  const paths: string[] = [];
  for (const name of SOURCES) paths.push(await fixture(name));
  origin = await serveFiles(paths);
  server = await boot();
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
});

const order = (name: (typeof SOURCES)[number], further: object): Promise<WireAsset> => {
  const inputs = [{ url: `${origin.url}/${SOURCES.indexOf(name)}` }];
  return createAsset(server, { inputs, playback_policies: ['public'], ...further });
};
const make = async (name: (typeof SOURCES)[number], ...resolutions: string[]): Promise<WireAsset> => {
  const asset = await order(name, { static_renditions: resolutions.map((resolution) => ({ resolution })) });
  return withFiles(server, asset.id);
};
const urlOf = (asset: WireAsset, name: string): string => `${server.url}/${asset.playback_ids![0]!.id}/${name}`;
const download = (asset: WireAsset, { name }: WireFile): Promise<Buffer> => fetchBytes(urlOf(asset, name));
const typesOf = async ({ id }: WireAsset): Promise<string[]> => (await eventsOf(server, id)).map(({ type }) => type);

/** Boxes of the file's first level, in order, with their offsets. */
const topBoxes = (bytes: Buffer): { type: string; offset: number }[] => {
  const boxes = [];
  for (let offset = 0; offset < bytes.length; offset += bytes.readUInt32BE(offset))
    boxes.push({ type: bytes.toString('latin1', offset + 4, offset + 8), offset });
  return boxes;
};

/**
 * A file is what the asset says of it, has its index in front, and video and audio begin together.
 */
const check = (file: WireFile, bytes: Buffer, asset: WireAsset): void => {
  expect(bytes.length).toBe(Number(file.filesize));
  expect(topBoxes(bytes).map(({ type }) => type)).toEqual(['ftyp', 'moov', 'mdat']);
  const probed = probeFile([bytes]);
  expect(Math.abs(probed.durationSeconds - asset.duration!)).toBeLessThan(0.03);
  // ffprobe rounds durations to microseconds.
  expect(Math.abs(file.bitrate! - (bytes.length * 8) / probed.durationSeconds)).toBeLessThan(2);
  const video = probed.streams.find(({ type }) => type === 'video');
  expect(video && { width: video.width, height: video.height }).toEqual(
    file.width === undefined ? undefined : { width: file.width, height: file.height },
  );
  expect(probed.startSeconds).toBe(0);
  const packets = readPackets([bytes]);
  for (const { index } of probed.streams) {
    const times = packets.filter(({ streamIndex }) => streamIndex === index).map(({ ptsSeconds }) => ptsSeconds);
    expect(Math.min(...times)).toBe(0);
  }
};

test('are made in order after the asset is ready, each what it was asked for', async () => {
  const asset = await make('h264-640x400.mp4', '360p', 'highest', '270p', '720p', 'audio-only');
  const id = expect.stringMatching(/^[A-Za-z0-9]{40}$/);
  const made = { bitrate: expect.any(Number), filesize: expect.stringMatching(/^\d+$/), status: 'ready', id };
  const video = (resolution: string, type: string, width: number, height: number) => ({
    ...{ ...made, type, resolution, resolution_tier: '720p', name: `${resolution}.mp4`, ext: 'mp4', width, height },
  });
  expect(asset.static_renditions).toEqual({
    files: [
      video('360p', 'advanced', 576, 360),
      video('highest', 'standard', 640, 400),
      video('270p', 'advanced', 432, 270),
      { id, type: 'advanced', name: '720p.mp4', ext: 'mp4', resolution: '720p', status: 'skipped' },
      {
        ...made,
        type: 'standard',
        name: 'audio.m4a',
        ext: 'm4a',
        resolution: 'audio-only',
        resolution_tier: 'audio-only',
      },
    ],
  });
  const counters = Array.from({ length: 180 }, (_, index) => index);
  for (const file of filesOf(asset).filter(({ status }) => status === 'ready')) {
    const bytes = await download(asset, file);
    check(file, bytes, asset);
    if (file.width !== undefined) expect(readFrameCounters([bytes]).map(({ counter }) => counter)).toEqual(counters);
  }

  const events = await eventsOf(server, asset.id);
  const types = events.map(({ type }) => type);
  expect(types.slice(0, 7)).toEqual(['created', ...Array(5).fill('static_rendition.created'), 'ready']);
  const ends = [...Array(4).fill('static_rendition.ready'), 'static_rendition.skipped'];
  expect(types.slice(7).sort()).toEqual(ends);
  for (const { type, data } of events.slice(7)) {
    expect(data).toEqual({ ...filesOf(asset).find((file) => file.id === data.id), asset_id: asset.id });
    expect(type).toBe(`static_rendition.${data.status}`);
  }
  expect(filesOf(events[0]!.data)).toHaveLength(5);
});

test('have the frames and the audio of the playlist, whose segments they are made of', async () => {
  const asset = await make('vfr.mkv', 'highest');
  const bytes = await download(asset, filesOf(asset)[0]!);
  check(filesOf(asset)[0]!, bytes, asset);
  const played = await playThrough(`${server.url}/${asset.playback_ids![0]!.id}.m3u8`);
  const segments = played.variants.find(({ attributes }) => attributes.RESOLUTION === '320x180')!;
  const shown = [segments.init, ...segments.segments.map((segment) => segment.bytes)];
  const inFile = readExactFrames([bytes]);
  const inPlaylist = readExactFrames(shown);
  expect(inFile.map(({ digest }) => digest)).toEqual(inPlaylist.map(({ digest }) => digest));
  // FFmpeg begins fragments with negative offsets later than they are.
  for (const [at, { ptsSeconds }] of inFile.entries())
    expect(Math.abs(ptsSeconds - (inPlaylist[at]!.ptsSeconds - inPlaylist[0]!.ptsSeconds))).toBeLessThan(0.0005);
  const audio = readAudio([bytes]).channels[0]!;
  const heard = readAudio([played.audio!.init, ...played.audio!.segments.map((segment) => segment.bytes)]).channels[0]!;
  expect(Buffer.from(audio.buffer).equals(Buffer.from(heard.buffer))).toBe(true);
});

test.each([
  ['portrait-90.mp4', 180, 320],
  ['anamorphic.mp4', 320, 180],
] as const)('of %s are upright and in shape', async (name, width, height) => {
  const asset = await make(name, 'highest');
  const [file] = filesOf(asset);
  expect(file).toMatchObject({ status: 'ready', width, height });
  const bytes = await download(asset, file!);
  check(file!, bytes, asset);
  const [stream] = probeFile([bytes]).streams;
  expect(stream).toMatchObject({ rotation: 0, sampleAspect: 1 });
  expect(readFrameCounters([bytes]).map(({ counter }) => counter)).toEqual(
    Array.from({ length: 180 }, (_, index) => index),
  );
  expect(readRgbFrames([bytes])[0]).toMatchObject({ width, height });
});

test('are skipped where a stream is missing', async () => {
  const silent = await make('video-only.mp4', 'audio-only', 'highest');
  expect(filesOf(silent).map(({ name, status }) => [name, status])).toEqual([
    ['audio.m4a', 'skipped'],
    ['highest.mp4', 'ready'],
  ]);
  check(filesOf(silent)[1]!, await download(silent, filesOf(silent)[1]!), silent);
  const audio = await make('audio-only.mp3', 'highest', '270p', 'audio-only');
  expect(filesOf(audio).map(({ status }) => status)).toEqual(['skipped', 'skipped', 'ready']);
  const bytes = await download(audio, filesOf(audio)[2]!);
  check(filesOf(audio)[2]!, bytes, audio);
  expect(bytes.toString('latin1', 4, 12)).toBe('ftypM4A ');
});

test('fail with their asset', async () => {
  const one = await make('garbage.mp4', 'highest');
  expect(one.status).toBe('errored');
  expect(filesOf(one)).toMatchObject([{ status: 'errored' }]);
  expect(await typesOf(one)).toEqual(['created', 'static_rendition.created', 'errored', 'static_rendition.errored']);
  const last = (await eventsOf(server, one.id)).at(-1)!;
  expect(last.data.error).toEqual(one.errors);

  const all = await withFiles(server, (await order('garbage.mp4', { mp4_support: 'standard' })).id);
  expect(all.static_renditions).toEqual({ status: 'errored' });
  expect(await typesOf(all)).toEqual(['created', 'errored', 'static_renditions.errored']);
});

test('can be added to a ready asset and removed again', async () => {
  const { id } = await withFiles(server, (await order('h264-640x400.mp4', {})).id);
  const response = await api(server, 'POST', `/video/v1/assets/${id}/static-renditions`, { resolution: '270p' });
  expect(((await response.json()) as { data: WireFile }).data).toMatchObject({ status: 'preparing', name: '270p.mp4' });
  const asset = await withFiles(server, id);
  const [file] = filesOf(asset);
  check(file!, await download(asset, file!), asset);
  const stored = join(server.dataDir, 'blobs', 'assets', id, 'renditions');
  // Nothing is left of how it was made.
  await until('the parts are gone', () => filesBelow(stored).join() === `${file!.id}/file`);

  expect((await api(server, 'DELETE', `/video/v1/assets/${id}/static-renditions/${file!.id}`)).status).toBe(204);
  expect((await fetch(urlOf(asset, '270p.mp4'))).status).toBe(404);
  await until('the file is gone', () => readdirSync(stored).length === 0);
  expect((await typesOf(asset)).slice(2)).toEqual(
    ['created', 'ready', 'deleted'].map((type) => `static_rendition.${type}`),
  );
});

test('of clips and of test assets have their length', async () => {
  const source = await make('h264-640x400.mp4');
  const clip = await createAsset(server, {
    inputs: [{ url: `mux://assets/${source.id}`, start_time: 1.5, end_time: 4 }],
    playback_policies: ['public'],
    static_renditions: [{ resolution: 'highest' }],
  });
  const asset = await withFiles(server, clip.id);
  const bytes = await download(asset, filesOf(asset)[0]!);
  check(filesOf(asset)[0]!, bytes, asset);
  expect(readFrameCounters([bytes]).map(({ counter }) => counter)).toEqual(
    Array.from({ length: 75 }, (_, index) => index + 45),
  );
  const test = await withFiles(
    server,
    (await order('audio-only.mp3', { test: true, static_renditions: [{ resolution: 'audio-only' }] })).id,
  );
  expect(test.duration).toBeCloseTo(10, 1);
  check(filesOf(test)[0]!, await download(test, filesOf(test)[0]!), test);
});

describe('mp4_support', () => {
  const put = async (assetId: string, support: string): Promise<WireAsset> => {
    const response = await api(server, 'PUT', `/video/v1/assets/${assetId}/mp4-support`, { mp4_support: support });
    expect(response.status).toBe(200);
    return ((await response.json()) as { data: WireAsset }).data;
  };
  const shown = (name: string, width: number, height: number) => ({
    ...{ name, ext: 'mp4', width, height, bitrate: expect.any(Number), filesize: expect.stringMatching(/^\d+$/) },
  });

  test('makes the files of its value, keeps those of the next one, and takes them away', async () => {
    const created = await order('h264-640x400.mp4', { mp4_support: 'standard' });
    expect(created.static_renditions).toEqual({ status: 'preparing' });
    const asset = await withFiles(server, created.id);
    expect(asset.static_renditions).toEqual({
      status: 'ready',
      files: [shown('low.mp4', 576, 360), shown('medium.mp4', 640, 400)],
    });
    for (const file of filesOf(asset)) check(file, await download(asset, file), asset);
    const made = ['static_renditions.preparing', 'static_renditions.ready'];
    expect(await typesOf(asset)).toEqual(['created', 'ready', ...made]);

    expect((await put(asset.id, 'standard')).static_renditions).toEqual(asset.static_renditions);
    expect((await put(asset.id, 'audio-only,capped-1080p')).static_renditions).toEqual({ status: 'preparing' });
    const both = await withFiles(server, asset.id);
    expect(filesOf(both).map(({ name }) => name)).toEqual(['capped-1080p.mp4', 'audio.m4a']);
    expect((await fetch(urlOf(asset, 'low.mp4'))).status).toBe(404);
    const etag = async () => (await fetch(urlOf(asset, 'audio.m4a'), { method: 'HEAD' })).headers.get('etag');
    const before = await etag();
    const less = await put(asset.id, 'audio-only');
    expect(less.static_renditions).toEqual({ status: 'ready', files: [filesOf(both)[1]] });
    expect(await etag()).toBe(before);

    const none = await put(asset.id, 'none');
    expect(none).not.toHaveProperty('static_renditions');
    expect((await fetch(urlOf(asset, 'audio.m4a'))).status).toBe(404);
    expect((await typesOf(asset)).slice(2)).toEqual([...made, ...made, ...made, 'static_renditions.deleted']);
  });

  test.each([
    ['video-only.mp4', 'audio-only', 'errored', []],
    ['video-only.mp4', 'audio-only,capped-1080p', 'ready', ['capped-1080p.mp4']],
    ['audio-only.mp3', 'capped-1080p', 'ready', ['audio.m4a']],
    ['audio-only.mp3', 'standard', 'ready', ['audio.m4a']],
  ] as const)('of %s with %s', async (name, support, status, names) => {
    const asset = await withFiles(server, (await order(name, { mp4_support: support })).id);
    expect(asset).toMatchObject({ status: 'ready', mp4_support: support, static_renditions: { status } });
    expect(filesOf(asset).map((file) => file.name)).toEqual(names);
    expect((await typesOf(asset)).slice(-2)).toEqual(['preparing', status].map((type) => `static_renditions.${type}`));
  });
});

test('go with their asset, whatever their state', async () => {
  const asset = await order('h264-640x400.mp4', {
    static_renditions: [{ resolution: 'highest' }, { resolution: '360p' }],
  });
  await until('asset ready', async () => (await getAsset(server, asset.id)).status === 'ready');
  expect((await api(server, 'DELETE', `/video/v1/assets/${asset.id}`)).status).toBe(204);
  const stored = () => filesBelow(join(server.dataDir, 'blobs')).filter((path) => path.includes(asset.id));
  await until('nothing is stored of it', () => stored().length === 0);
  const types = await typesOf(asset);
  expect(types.at(-1)).toBe('deleted');
  expect(types).not.toContain('static_rendition.deleted');
  expect(types).not.toContain('static_rendition.errored');
});
