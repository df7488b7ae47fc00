import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { playAll } from '../../support/players/play.js';
import {
  cleanUpServers,
  makeDataDir,
  type ServerProcess,
  startServer,
  until,
} from '../../support/servers/server-process.js';
import { earlyPlaybackOf, settled } from '../../support/wire/create-asset.js';
import { earlyUploads } from '../../support/wire/early-upload.js';
import { sendChunk } from '../../support/wire/uploading.js';

const dataDir = makeDataDir();
let server: ServerProcess;
let file: Buffer;
beforeAll(async () => {
  file = await readFile(await fixture('growing.ts'));
  server = await startServer({ dataDir });
});
afterAll(cleanUpServers);

const { create, read, get, untilPlayable, sendRest, digestOf, segmentsOf } = earlyUploads(() => server);

it('plays under the same playback ID after kill -9', async () => {
  const { id, url } = await create();
  const part = Math.floor(file.length * 0.5);
  expect((await sendChunk(url!, file, 0, part, file.length)).status).toBe(308);
  const playbackId = await untilPlayable(id);
  const [first] = await segmentsOf(playbackId);
  const early = await digestOf(first!);
  await server.kill();
  server = await startServer({ dataDir });
  expect(await untilPlayable(id)).toBe(playbackId);
  expect(await digestOf(first!)).toBe(early);
  await sendRest(id, file);
  const asset = await settled(server, (await read(id)).asset_id!);
  expect(asset).toMatchObject({ status: 'ready', playback_ids: [{ id: playbackId }] });
  expect(await earlyPlaybackOf(server, asset.id)).toEqual({ status: 'played' });
  expect(await digestOf(first!)).toBe(early);
  await playAll(server.url, playbackId);
});

it('ends, and plays right once it is ready, if the rest needs another plan', async () => {
  // Another recording, of another rate, whose times begin again.
  const other = Buffer.concat([file, await readFile(await fixture('h264-aac.ts'))]);
  const { id, url } = await create();
  expect((await sendChunk(url!, other, 0, Math.floor(other.length * 0.6), other.length)).status).toBe(308);
  const playbackId = await untilPlayable(id);
  const [first] = await segmentsOf(playbackId);
  expect((await get(first!)).status).toBe(200);
  await sendRest(id, other);
  const asset = await settled(server, (await read(id)).asset_id!);
  expect(asset).toMatchObject({ status: 'ready', playback_ids: [{ id: playbackId }] });
  const way = { status: 'ended', reason: 'the stored file has another plan' };
  expect(await earlyPlaybackOf(server, asset.id)).toEqual(way);
  expect(asset.duration).toBeCloseTo(78, 0);
  await playAll(server.url, playbackId);
});

it('is stored first where the rest decides the frame rate', async () => {
  const variable = await readFile(await fixture('growing-vfr.mkv'));
  const { id, url } = await create();
  expect((await sendChunk(url!, variable, 0, variable.length - 1000, variable.length)).status).toBe(308);
  const reason = 'the average frame rate of the video is known at its end';
  const told = () =>
    server.log().find(({ msg, upload_id }) => msg === 'upload does not play early' && upload_id === id);
  await until('the reason is logged', () => told() !== undefined);
  expect(told()).toMatchObject({ reason });
  expect((await read(id)).early_playback_ids).toBeUndefined();
  await sendRest(id, variable);
  const asset = await settled(server, (await read(id)).asset_id!);
  expect(await earlyPlaybackOf(server, asset.id)).toEqual({ status: 'stored_first', reason });
  await playAll(server.url, asset.playback_ids![0]!.id);
});

it('is stored first with KINORA_RANGE_SOURCES=false', async () => {
  await server.stop();
  server = await startServer({ dataDir, options: { RANGE_SOURCES: 'false' } });
  const { id, url } = await create();
  expect((await sendChunk(url!, file, 0, file.length - 1000, file.length)).status).toBe(308);
  expect((await read(id)).early_playback_ids).toBeUndefined();
  await sendRest(id, file);
  const { asset_id: assetId } = await read(id);
  const reason = 'KINORA_RANGE_SOURCES is false';
  expect(await earlyPlaybackOf(server, assetId!)).toEqual({ status: 'stored_first', reason });
});
