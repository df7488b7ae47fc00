import { randomBytes } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { losePower } from '../../support/processes/lose-power.js';
import {
  cleanUpServers,
  makeDataDir,
  type ServerProcess,
  startServer,
  until,
} from '../../support/servers/server-process.js';
import { paddedMp4, type SlowOrigin, startSlowOrigin } from '../../support/servers/slow-origin.js';
import { api, createAsset, settled } from '../../support/wire/create-asset.js';
import { askStatus, openRequest, sendChunk, storedIn, type WireUpload } from '../../support/wire/uploading.js';

const MIB = 2 ** 20;
const ACKNOWLEDGED = 2 * MIB + 77;
const TUS = { 'tus-resumable': '1.0.0' };
const file = randomBytes(8 * MIB);
const dataDir = makeDataDir();
const blobDir = join(dataDir, 'blobs');

let origin: SlowOrigin;
let server: ServerProcess;
beforeAll(async () => {
  origin = await startSlowOrigin();
  server = await startServer({ dataDir });
});
afterAll(async () => {
  await cleanUpServers();
  await origin?.stop();
});

const create = async (): Promise<WireUpload> =>
  ((await (await api(server, 'POST', '/video/v1/uploads', {})).json()) as { data: WireUpload }).data;
const read = async (id: string): Promise<WireUpload> =>
  ((await (await api(server, 'GET', `/video/v1/uploads/${id}`)).json()) as { data: WireUpload }).data;
const putUrl = async (id: string): Promise<string> => (await read(id)).url!;
const tusUrl = async (id: string): Promise<string> => (await putUrl(id)).replace('/u/', '/tus/');
const patchHeaders = (offset: number) => ({
  ...TUS,
  'content-type': 'application/offset+octet-stream',
  'upload-offset': String(offset),
});

/** Without their records. */
const partials = async (): Promise<string[]> =>
  (await readdir(join(blobDir, '.partial'))).filter((name) => name.endsWith('~source'));

/** Waits until each of the unfinished files has so many bytes. */
const untilStored = (names: readonly string[], bytes: number): Promise<void> =>
  until('the bytes are stored', async () => {
    const sizes = names.map((name) => stat(join(blobDir, '.partial', name)).then(({ size }) => size));
    return (await Promise.all(sizes).catch(() => [0])).every((size) => size >= bytes);
  });
/** The rest of the file, of which 3 MiB are sent. */
const sendMore = (url: string, method: string, headers: Record<string, string>): Promise<void> =>
  openRequest(url, { ...headers, 'content-length': file.length - ACKNOWLEDGED }, method).send(
    file.subarray(ACKNOWLEDGED, ACKNOWLEDGED + 3 * MIB),
  );
const expectWhole = async (id: string): Promise<void> => {
  const { status, asset_id: assetId } = await read(id);
  expect(status).toBe('asset_created');
  expect((await storedIn(blobDir, assetId!)).source!.equals(file)).toBe(true);
};

it('acknowledged bytes survive a power failure, and a download mixes nothing into its file', async () => {
  const movie = await paddedMp4(await fixture('h264-aac.mp4'), 8 * MIB);
  const asset = await createAsset(server, { inputs: [{ url: origin.add('movie.mp4', movie, 5 * MIB) }] });
  await untilStored([`assets~${asset.id}~source`], 3 * MIB);

  const put = await create();
  expect((await sendChunk(put.url!, file, 0, ACKNOWLEDGED)).status).toBe(308);
  const range = `bytes ${ACKNOWLEDGED}-${file.length - 1}/${file.length}`;

  const tus = await create();
  const announced = { ...TUS, 'upload-length': String(file.length) };
  expect((await fetch(await tusUrl(tus.id), { method: 'POST', headers: announced })).status).toBe(201);
  const sent = { method: 'PATCH', headers: patchHeaders(0), body: file.subarray(0, ACKNOWLEDGED) };
  expect((await fetch(await tusUrl(tus.id), sent)).status).toBe(204);

  const uploads = (await partials()).filter((name) => !name.includes(asset.id));
  expect(uploads).toHaveLength(2);
  await sendMore(put.url!, 'PUT', { 'content-range': range });
  await sendMore(await tusUrl(tus.id), 'PATCH', patchHeaders(ACKNOWLEDGED));
  await untilStored(uploads, ACKNOWLEDGED + MIB);

  await server.kill();
  await losePower(blobDir);
  origin.release();
  server = await startServer({ dataDir });

  const status = await askStatus(await putUrl(put.id), '*');
  expect(status.headers.get('range')).toBe(`bytes=0-${ACKNOWLEDGED - 1}`);
  expect((await sendChunk(await putUrl(put.id), file, ACKNOWLEDGED, file.length)).status).toBe(200);
  await expectWhole(put.id);

  const head = await fetch(await tusUrl(tus.id), { method: 'HEAD', headers: TUS });
  expect(head.headers.get('upload-offset')).toBe(String(ACKNOWLEDGED));
  const rest = { method: 'PATCH', headers: patchHeaders(ACKNOWLEDGED), body: file.subarray(ACKNOWLEDGED) };
  expect((await fetch(await tusUrl(tus.id), rest)).status).toBe(204);
  await expectWhole(tus.id);

  expect(await settled(server, asset.id)).toMatchObject({ status: 'ready' });
  expect((await readFile(join(blobDir, 'assets', asset.id, 'source'))).equals(movie)).toBe(true);
});
