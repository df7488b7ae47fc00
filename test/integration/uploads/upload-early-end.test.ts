import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '#kinora/lib/clock.js';
import { fixture } from '../../support/media/fixtures.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { until } from '../../support/servers/server-process.js';
import { api, earlyPlaybackOf, settled } from '../../support/wire/create-asset.js';
import { digest, earlyUploads } from '../../support/wire/early-upload.js';
import { filesOf, sendChunk, storedIn } from '../../support/wire/uploading.js';

const VERSION = { 'tus-resumable': '1.0.0' };

let server: Booted;
let passedMs = 0;
let file: Buffer;
let firstBytes: number;
beforeAll(async () => {
  file = await readFile(await fixture('long-index-first.mp4'));
  firstBytes = Math.floor(file.length * 0.6);
  server = await boot({ clock: { ...systemClock, now: () => new Date(Date.now() + passedMs) } });
});
afterAll(() => server?.stop());

const { create, read, get, untilPlayable, segmentsOf, digestOf } = earlyUploads(() => server);

it('plays while tus sends it, and the same once it is ready', async () => {
  const { id, url } = await create();
  const tusUrl = url!.replace('/u/', '/tus/');
  const patch = (from: number, until: number) =>
    fetch(tusUrl, {
      method: 'PATCH',
      headers: { ...VERSION, 'content-type': 'application/offset+octet-stream', 'upload-offset': String(from) },
      body: new Uint8Array(file.subarray(from, until)),
    });
  const headers = { ...VERSION, 'upload-length': String(file.length) };
  expect((await fetch(tusUrl, { method: 'POST', headers })).status).toBe(201);
  const half = Math.floor(firstBytes / 2);
  expect((await patch(0, half)).status).toBe(204);
  expect((await patch(half, firstBytes)).status).toBe(204);
  const playbackId = await untilPlayable(id);
  const paths = await segmentsOf(playbackId);
  const early = await digestOf(paths[0]!);
  expect((await get(paths.at(-1)!)).status).toBe(503);
  expect((await patch(firstBytes, file.length)).status).toBe(204);
  const asset = await settled(server, (await read(id)).asset_id!);
  expect(asset).toMatchObject({ status: 'ready', playback_ids: [{ id: playbackId }] });
  expect(await earlyPlaybackOf(server, asset.id)).toEqual({ status: 'played' });
  expect(await digestOf(paths[0]!)).toBe(early);
  expect((await get(paths.at(-1)!)).status).toBe(200);
  expect(digest((await storedIn(join(server.dataDir, 'blobs'), asset.id)).source!)).toBe(digest(file));
});

it('plays over DASH as over HLS', async () => {
  const { id, url } = await create();
  await sendChunk(url!, file, 0, firstBytes, file.length);
  const playbackId = await untilPlayable(id);
  const [first] = await segmentsOf(playbackId);
  const manifest = await get(`${playbackId}.mpd`);
  expect(manifest.status).toBe(200);
  const [, media] = /media="([^"]+\/)\$Number\$\.m4s"/.exec(await manifest.text())!;
  const path = new URL(media!, `${server.url}/`).pathname.slice(1);
  expect((await get(`${path}init.mp4`)).status).toBe(200);
  expect(await digestOf(`${path}0.m4s`)).toBe(await digestOf(first!));
  // Of what has not arrived yet.
  expect((await get(`${path}6.m4s`)).status).toBe(503);
});

/** The assets to come of unfinished uploads. */
const partials = (): string[] =>
  filesOf(join(server.dataDir, 'blobs', '.partial'), '~source').map((path) => path.split('~')[1]!);

it('ends with the time of the upload, and leaves nothing', async () => {
  const others = partials();
  const { id, url } = await create({}, { timeout: 60 });
  await sendChunk(url!, file, 0, firstBytes, file.length);
  const playbackId = await untilPlayable(id);
  const [first] = await segmentsOf(playbackId);
  expect((await get(first!)).status).toBe(200);
  const assetId = partials().find((each) => !others.includes(each));
  passedMs += 61_000;
  await until('its time is over', async () => (await read(id)).status === 'timed_out');
  await until('its files are gone', () => filesOf(server.dataDir, assetId!).length === 0);
  expect((await get(`${playbackId}.m3u8`)).status).toBe(404);
  expect((await get(first!)).status).toBe(404);
  expect((await read(id)).early_playback_ids).toBeUndefined();
  expect((await sendChunk(url!, file, firstBytes, file.length)).status).toBe(410);
});

it('ends when the asset can not be created any more, and leaves nothing', async () => {
  const others = partials();
  const workflows = [{ reference_id: 'chapters', workflow: 'generate-chapters' }];
  const body = { name: 'Chapters', subject: { type: 'video.asset' }, workflows };
  const made = await (await api(server, 'POST', '/robots/v0/directives', body)).json();
  const { id: directiveId } = (made as { data: { id: string } }).data;
  const { id, url } = await create({ directives: [{ id: directiveId }] });
  await sendChunk(url!, file, 0, firstBytes, file.length);
  const playbackId = await untilPlayable(id);
  const [first] = await segmentsOf(playbackId);
  expect((await get(first!)).status).toBe(200);
  const assetId = partials().find((each) => !others.includes(each));
  expect((await api(server, 'DELETE', `/robots/v0/directives/${directiveId}`)).status).toBe(204);
  expect((await sendChunk(url!, file, firstBytes, file.length)).status).toBe(410);
  expect(await read(id)).toMatchObject({ status: 'errored', error: { type: 'invalid_parameters' } });
  expect((await get(first!)).status).toBe(404);
  await until('its files are gone', () => filesOf(server.dataDir, assetId!).length === 0);
});
