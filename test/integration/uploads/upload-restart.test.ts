import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  cleanUpServers,
  makeDataDir,
  type ServerProcess,
  startServer,
  until,
} from '../../support/servers/server-process.js';
import { api, getAsset } from '../../support/wire/create-asset.js';
import { askStatus, filesOf, openRequest, sendChunk, storedIn, type WireUpload } from '../../support/wire/uploading.js';

const MIB = 2 ** 20;
const file = randomBytes(6 * MIB + 12_345);
const dataDir = makeDataDir();
const blobDir = join(dataDir, 'blobs');

let server: ServerProcess;
const start = async () => {
  server = await startServer({ dataDir });
};
beforeAll(start);
afterAll(cleanUpServers);

const create = async (): Promise<WireUpload> =>
  ((await (await api(server, 'POST', '/video/v1/uploads', {})).json()) as { data: WireUpload }).data;
const read = async (id: string): Promise<WireUpload> =>
  ((await (await api(server, 'GET', `/video/v1/uploads/${id}`)).json()) as { data: WireUpload }).data;
/** The address after a restart, which has another port. */
const addressOf = async (id: string): Promise<string> => (await read(id)).url!;
const rangeOf = (response: Response) => [response.status, response.headers.get('range')];

const expectWhole = async (id: string): Promise<void> => {
  const { status, asset_id: assetId } = await read(id);
  expect(status).toBe('asset_created');
  const { source } = await storedIn(blobDir, assetId!);
  expect(source!.equals(file)).toBe(true);
  expect((await getAsset(server, assetId!)).upload_id).toBe(id);
  expect(filesOf(join(blobDir, '.partial'), assetId!)).toEqual([]);
};

describe('an upload goes on where it was', () => {
  it('after a restart between two chunks', async () => {
    const { id, url } = await create();
    expect((await sendChunk(url!, file, 0, 3 * MIB)).status).toBe(308);
    expect(await server.stop()).toBe(0);
    await start();
    const address = await addressOf(id);
    expect(new URL(address).search).toBe(new URL(url!).search);
    expect(rangeOf(await askStatus(address, file.length))).toEqual([308, `bytes=0-${3 * MIB - 1}`]);
    expect((await sendChunk(address, file, 3 * MIB, file.length)).status).toBe(200);
    await expectWhole(id);
  });

  it('after the server was killed between two chunks: what was acknowledged is there', async () => {
    const { id, url } = await create();
    expect((await sendChunk(url!, file, 0, 3 * MIB + 77)).status).toBe(308);
    await server.kill();
    await start();
    const address = await addressOf(id);
    expect(rangeOf(await askStatus(address, '*'))).toEqual([308, `bytes=0-${3 * MIB + 76}`]);
    expect((await sendChunk(address, file, 3 * MIB, file.length)).status).toBe(200);
    await expectWhole(id);
  });

  it('after the server was killed in the middle of a chunk: what it had stored is right', async () => {
    const { id, url } = await create();
    const sending = openRequest(url!, {
      'content-length': file.length,
      'content-range': `bytes 0-${file.length - 1}/${file.length}`,
    });
    await sending.send(file.subarray(0, 5 * MIB));
    await until('some of it is stored', () => filesOf(join(blobDir, '.partial'), '~source').length > 0);
    await server.kill();
    await start();
    const address = await addressOf(id);
    const range = (await askStatus(address, file.length)).headers.get('range');
    const stored = range === null ? 0 : Number(/^bytes=0-(\d+)$/.exec(range)?.[1]) + 1;
    expect(stored).toBeLessThanOrEqual(5 * MIB);
    expect((await sendChunk(address, file, stored, file.length)).status).toBe(200);
    await expectWhole(id);
  });
});
