import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FixtureName, fixture } from '../../support/media/fixtures.js';
import {
  type MeasuredFrame,
  type MediaInput,
  measureTone,
  probeFile,
  readAudio,
  readExactFrames,
  readFrameCounters,
  readFrameDigests,
  readLoudness,
  readLuma,
} from '../../support/media/measure.js';
import { writePng } from '../../support/media/png.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import type { Origin } from '../../support/servers/origin.js';
import { filesBelow, until } from '../../support/servers/server-process.js';
import { movableClock } from '../../support/servers/webhooks.js';
import { api, createAsset, getAsset, serveFiles, settled, type WireAsset } from '../../support/wire/create-asset.js';
import { eventTypes } from '../../support/wire/events.js';

const SOURCES = [
  'h264-aac.mp4',
  'hevc-ac3.mkv',
  'vp9-opus.webm',
  'ts-concatenated.ts',
  'portrait-90.mp4',
  'edit-list.mp4',
  'h264-pcm-mono.mov',
  'one-key-frame.mp4',
  'mpeg2-ac3.ts',
  'audio-only.m4a',
  'audio-only.wav',
  'long.mp4',
  'loudness.wav',
] as const satisfies FixtureName[];
const DAY_MS = 24 * 3600_000;

const clock = movableClock();
let server: Booted;
let origin: Origin;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kinora-master-'));
  const logo = join(folder, 'logo.png');
  await writeFile(
    logo,
    writePng(32, 32, () => [255, 255, 255, 255]),
  );
  const paths: string[] = [];
  for (const name of SOURCES) paths.push(await fixture(name));
  origin = await serveFiles([...paths, logo]);
  server = await boot({ clock });
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
  await rm(folder, { recursive: true, force: true });
});

const sourceUrl = (name: (typeof SOURCES)[number]) => `${origin.url}/${SOURCES.indexOf(name)}`;
interface Master {
  readonly status: string;
  readonly url?: string;
}
const masterOf = ({ master }: WireAsset) => master as Master | undefined;

/** The asset once its master is there. */
const withMaster = async (id: string): Promise<WireAsset & { url: string }> => {
  let asset = await settled(server, id);
  await until('a master', async () => {
    asset = await getAsset(server, id);
    return masterOf(asset)?.status !== 'preparing';
  });
  expect(masterOf(asset)).toEqual({ status: 'ready', url: expect.any(String) });
  return { ...asset, url: masterOf(asset)!.url! };
};
const create = async (inputs: readonly object[], further: object = {}) =>
  withMaster((await createAsset(server, { inputs, master_access: 'temporary', ...further })).id);
const download = async (url: string): Promise<Uint8Array[]> => {
  const response = await fetch(url);
  expect(response.status).toBe(200);
  return [new Uint8Array(await response.arrayBuffer())];
};
const putAccess = (id: string, access: string) =>
  api(server, 'PUT', `/video/v1/assets/${id}/master-access`, { master_access: access });

const boxesOf = ([bytes]: readonly Uint8Array[]): string[] => {
  const view = Buffer.from(bytes!);
  const types: string[] = [];
  for (let at = 0; at < view.length; at += view.readUInt32BE(at)) types.push(view.toString('latin1', at + 4, at + 8));
  return types;
};
const codecsOf = (input: MediaInput) => probeFile(input).streams.map(({ codec }) => codec);
const countersOf = (input: MediaInput) => readFrameCounters(input).map(({ counter }) => counter);
const range = (from: number, end: number) => Array.from({ length: end - from }, (_, index) => from + index);

/** When the beep of each full second begins in a file, in seconds of its clock. */
const beepsOf = (input: MediaInput): number[] => {
  const { channels, sampleRate, startSeconds } = readAudio(input);
  const step = sampleRate / 1000;
  // Periods of 1 ms: a tone of 1,000 Hz adds up in them, the lower ones do not.
  const count = Math.round(10 * step);
  const strength = Array.from({ length: Math.floor((channels[0]!.length - count) / step) }, (_, at) => {
    return measureTone(channels[0]!, sampleRate, 1000, Math.round(at * step), count).amplitude;
  });
  const beeps: number[] = [];
  strength.forEach((value, at) => {
    if (value > 0.14 && at / 1000 + startSeconds - (beeps.at(-1) ?? -1) > 0.5) beeps.push(at / 1000 + startSeconds);
  });
  return beeps;
};
const flashesOf = (frames: readonly MeasuredFrame[]): number[] =>
  frames
    .filter(({ flash }, at) => flash > 150 && (frames[at - 1]?.flash ?? 0) < 150)
    .map(({ ptsSeconds }) => ptsSeconds);

describe('a master of the source as it is', () => {
  test.each([
    ['h264-aac.mp4', ['h264', 'aac']],
    ['hevc-ac3.mkv', ['hevc', 'ac3']],
    ['vp9-opus.webm', ['vp9', 'opus']],
    ['ts-concatenated.ts', ['h264', 'aac']],
    ['portrait-90.mp4', ['h264', 'aac']],
    ['edit-list.mp4', ['h264', 'aac']],
  ] as const)('%s has the same frames bit by bit, in step with the audio', async (name, codecs) => {
    const { url } = await create([{ url: sourceUrl(name) }]);
    const [master, source] = [await download(url), await fixture(name)];
    expect(boxesOf(master).filter((type) => type !== 'free')).toEqual(['ftyp', 'moov', 'mdat']);
    expect(codecsOf(master)).toEqual(codecs);
    const [made, original] = [readExactFrames(master), readExactFrames(source)];
    expect(made.map(({ digest }) => digest)).toEqual(original.map(({ digest }) => digest));
    expect(made[0]!.ptsSeconds).toBeLessThan(0.1);
    expect(probeFile(master).streams[0]!.rotation).toBe(probeFile(source).streams[0]!.rotation);
    const [flashes, beeps] = [flashesOf(made), beepsOf(master)];
    // A beep or flash right at the start or in what an edit list cuts off may be found a little
    // late.
    const paired = flashes.slice(1).filter((flash) => beeps.some((beep) => Math.abs(beep - flash) < 0.25));
    expect(paired.length).toBeGreaterThanOrEqual(3);
    for (const flash of paired) {
      const nearest = beeps.reduce((best, beep) => (Math.abs(beep - flash) < Math.abs(best - flash) ? beep : best));
      expect(Math.abs(nearest - flash)).toBeLessThan(0.04);
    }
  });

  test('of audio alone is an M4A', async () => {
    const { url } = await create([{ url: sourceUrl('audio-only.m4a') }]);
    expect(new URL(url).pathname.endsWith('/master.m4a')).toBe(true);
    const master = await download(url);
    const [made, original] = [readAudio(master), readAudio(await fixture('audio-only.m4a'))];
    expect(Buffer.from(made.channels[0]!.buffer).equals(Buffer.from(original.channels[0]!.buffer))).toBe(true);
  });

  test('does not normalise the audio', async () => {
    const { url } = await create([{ url: sourceUrl('loudness.wav') }], { normalize_audio: true });
    const { integrated } = readLoudness(await download(url));
    const original = readLoudness(await fixture('loudness.wav'));
    expect(Math.abs(integrated - original.integrated)).toBeLessThan(0.5);
  });
});

describe('a master that is encoded', () => {
  test('has AAC beside copied frames where an MP4 cannot hold the audio', async () => {
    const { url } = await create([{ url: sourceUrl('h264-pcm-mono.mov') }]);
    const [master, source] = [await download(url), await fixture('h264-pcm-mono.mov')];
    expect(codecsOf(master)).toEqual(['h264', 'aac']);
    expect(readFrameDigests(master)).toEqual(readFrameDigests(source));
    for (const beep of beepsOf(master).slice(1)) expect(Math.abs(beep - Math.round(beep))).toBeLessThan(0.02);
  });

  test('looks like a source that no MP4 can hold', async () => {
    const { url } = await create([{ url: sourceUrl('mpeg2-ac3.ts') }]);
    const [master, source] = [await download(url), await fixture('mpeg2-ac3.ts')];
    expect(codecsOf(master)).toEqual(['h264', 'aac']);
    const [made, original] = [readLuma(master), readLuma(source)];
    expect(made.length).toBe(180);
    for (let at = 0; at < made.length; at += 20) {
      const error = made[at]!.luma.reduce((sum, value, sample) => sum + (value - original[at]!.luma[sample]!) ** 2, 0);
      expect(10 * Math.log10(255 ** 2 / (error / made[at]!.luma.length))).toBeGreaterThan(40);
    }
  });

  test('takes the repaired frames where the source is not good', async () => {
    const { url } = await create([{ url: sourceUrl('one-key-frame.mp4') }]);
    const master = await download(url);
    expect(countersOf(master)).toEqual(range(0, 900));
    expect(Math.abs(readAudio(master).channels[0]!.length / 48_000 - 30)).toBeLessThan(0.05);
  });

  test('of audio alone is AAC', async () => {
    const { url } = await create([{ url: sourceUrl('audio-only.wav') }]);
    expect(new URL(url).pathname.endsWith('/master.m4a')).toBe(true);
    expect(codecsOf(await download(url))).toEqual(['aac']);
  });

  test('of a clip holds no more than the clip', async () => {
    const source = await createAsset(server, { inputs: [{ url: sourceUrl('h264-aac.mp4') }] });
    await settled(server, source.id);
    const { url } = await create([{ url: `mux://assets/${source.id}`, start_time: 1.5, end_time: 4 }]);
    const master = await download(url);
    expect(countersOf(master)).toEqual(range(45, 120));
    expect(Math.abs(readAudio(master).channels[0]!.length / 48_000 - 2.5)).toBeLessThan(0.05);
    // The last frame of audio reaches a little over the end, where the next beep begins.
    expect(
      beepsOf(master)
        .slice(0, 2)
        .map((beep) => Math.round(beep * 10) / 10),
    ).toEqual([0.5, 1.5]);
  });

  test('of a test asset has ten seconds and the mark', async () => {
    const { url } = await create([{ url: sourceUrl('long.mp4') }], { test: true });
    const master = await download(url);
    const frames = readLuma(master);
    expect(frames).toHaveLength(300);
    const source = readLuma(await fixture('long.mp4'));
    const { width, height } = frames[0]!;
    let changed = 0;
    for (let y = Math.floor(height * 0.8); y < height; y += 1)
      for (let x = Math.floor(width * 0.85); x < width; x += 1)
        if (Math.abs(frames[40]!.luma[y * width + x]! - source[40]!.luma[y * width + x]!) > 20) changed += 1;
    expect(changed).toBeGreaterThan(50);
  });

  test('shows what lies over the video', async () => {
    const settings = { width: '100%', height: '50%', vertical_align: 'bottom' };
    const overlay = { url: `${origin.url}/${SOURCES.length}`, overlay_settings: settings };
    const { url } = await create([{ url: sourceUrl('h264-aac.mp4') }, overlay]);
    for (const { luma, width, height } of readLuma(await download(url)))
      expect(luma.subarray(Math.ceil(height * 0.52) * width).every((value) => value > 225)).toBe(true);
  });
});

describe('the address of a master', () => {
  let asset: WireAsset & { url: string };
  let bytes: Uint8Array;
  beforeAll(async () => {
    asset = await create([{ url: sourceUrl('h264-aac.mp4') }]);
    bytes = (await download(asset.url))[0]!;
  });

  test('needs no credentials and serves ranges, validators and HEAD for saving', async () => {
    const whole = await fetch(asset.url, { method: 'HEAD' });
    expect(whole.status).toBe(200);
    const headers = Object.fromEntries(whole.headers);
    expect(headers).toMatchObject({
      'content-type': 'video/mp4',
      'content-length': String(bytes.length),
      'content-disposition': 'attachment; filename="master.mp4"',
      'accept-ranges': 'bytes',
      'access-control-allow-origin': '*',
    });
    const part = await fetch(asset.url, { headers: { range: 'bytes=100-199' } });
    expect(part.status).toBe(206);
    expect(new Uint8Array(await part.arrayBuffer())).toEqual(bytes.subarray(100, 200));
    const outside = await fetch(asset.url, { headers: { range: `bytes=${bytes.length}-` } });
    expect(outside.status).toBe(416);
    const same = await fetch(asset.url, { headers: { 'if-none-match': headers.etag! } });
    expect(same.status).toBe(304);
  });

  test('is worth nothing when anything of it is changed', async () => {
    const [, , , signature] = new URL(asset.url).pathname.split('/') as [string, string, string, string];
    const expires = new URL(asset.url).searchParams.get('expires')!;
    const changed = [
      asset.url.replace(signature, `${signature.slice(0, -2)}AA`),
      asset.url.replace(signature, 'x'),
      asset.url.replace(expires, String(Number(expires) + 60)),
      asset.url.replace(`expires=${expires}`, ''),
      asset.url.replace('master.mp4', 'master.m4a'),
      asset.url.replace('master.mp4', 'source'),
    ];
    for (const url of changed) {
      const response = await fetch(url);
      expect([response.status, await response.json()], url).toEqual([
        403,
        { code: 7, message: 'Signature is invalid' },
      ]);
    }
    const unknown = asset.url.replace(asset.id, asset.id.replace(/./g, 'x'));
    expect((await fetch(unknown)).status).toBe(404);
  });
});

describe('the access to a master', () => {
  test('ends a day after it was there, with everything of it', async () => {
    const { id, url } = await create([{ url: sourceUrl('h264-aac.mp4') }]);
    const begun = await eventTypes(server, id);
    expect(begun).toEqual(['created', 'ready', 'master.preparing', 'master.ready']);
    const expires = Number(new URL(url).searchParams.get('expires'));
    expect(Math.abs(expires * 1000 - clock.now().getTime() - DAY_MS)).toBeLessThan(60_000);
    const masters = join(server.dataDir, 'blobs', 'assets', id, 'masters');
    expect(filesBelow(masters)).toHaveLength(1);
    clock.aheadMs += DAY_MS - 120_000;
    expect((await fetch(url)).status).toBe(200);
    clock.aheadMs += 180_000;
    expect((await fetch(url)).status).toBe(403);
    await until('the master is given up', async () => (await getAsset(server, id)).master_access === 'none');
    expect((await getAsset(server, id)).master).toBeUndefined();
    expect((await fetch(url)).status).toBe(403);
    expect(await eventTypes(server, id)).toEqual([...begun, 'master.deleted']);
    await until('its files are removed', () => filesBelow(masters).length === 0);
  });

  test('is given and taken at any time, each time at another address', async () => {
    const { id } = await createAsset(server, { inputs: [{ url: sourceUrl('h264-aac.mp4') }] });
    expect((await settled(server, id)).master).toBeUndefined();
    const response = await putAccess(id, 'temporary');
    expect(response.status).toBe(200);
    expect((await response.json()).data).toMatchObject({
      id,
      master_access: 'temporary',
      master: { status: 'preparing' },
    });
    const { url } = await withMaster(id);
    const again = (await (await putAccess(id, 'temporary')).json()).data;
    expect(again.master).toEqual({ status: 'ready', url });
    const none = (await (await putAccess(id, 'none')).json()).data;
    expect(none).toMatchObject({ id, master_access: 'none' });
    expect(none.master).toBeUndefined();
    expect((await fetch(url)).status).toBe(403);
    await putAccess(id, 'temporary');
    const renewed = await withMaster(id);
    expect(renewed.url).not.toBe(url);
    expect((await fetch(url)).status).toBe(403);
    await download(renewed.url);
    expect(await eventTypes(server, id)).toEqual([
      ...['created', 'ready', 'master.preparing', 'master.ready', 'master.deleted'],
      ...['master.preparing', 'master.ready'],
    ]);
    const masters = join(server.dataDir, 'blobs', 'assets', id, 'masters');
    expect((await api(server, 'DELETE', `/video/v1/assets/${id}`)).status).toBe(204);
    expect((await fetch(renewed.url)).status).toBe(404);
    await until('its files are removed', () => filesBelow(masters).length === 0);
  });

  test('may be asked for before the asset is ready, and taken back', async () => {
    const body = { inputs: [{ url: sourceUrl('h264-aac.mp4') }] };
    const [wanted, unwanted] = [
      await createAsset(server, body),
      await createAsset(server, { ...body, master_access: 'temporary' }),
    ];
    expect(unwanted.master).toEqual({ status: 'preparing' });
    const [given, taken] = [await putAccess(wanted.id, 'temporary'), await putAccess(unwanted.id, 'none')];
    expect([given.status, taken.status]).toEqual([200, 200]);
    await withMaster(wanted.id);
    expect(await settled(server, unwanted.id)).toMatchObject({ master_access: 'none' });
    expect(await eventTypes(server, wanted.id)).toEqual(['created', 'ready', 'master.preparing', 'master.ready']);
    expect((await eventTypes(server, unwanted.id)).filter((type) => type.startsWith('master'))).toEqual([]);
  });

  test('is errored when its source is gone', async () => {
    const { id } = await createAsset(server, { inputs: [{ url: sourceUrl('h264-aac.mp4') }] });
    await settled(server, id);
    const source = join(server.dataDir, 'blobs', 'assets', id, 'source');
    await rm(source);
    await putAccess(id, 'temporary');
    await until('an error', async () => masterOf(await getAsset(server, id))?.status === 'errored');
    expect((await eventTypes(server, id)).slice(-2)).toEqual(['master.preparing', 'master.errored']);
    expect((await getAsset(server, id)).status).toBe('ready');
    // It may be retried.
    expect((await (await putAccess(id, 'temporary')).json()).data.master).toEqual({ status: 'preparing' });
  });
});
