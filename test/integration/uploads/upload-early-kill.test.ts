import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
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
import { settled } from '../../support/wire/create-asset.js';
import { digest, earlyUploads } from '../../support/wire/early-upload.js';
import { filesOf, openRequest, sendChunk, storedIn, type WireUpload } from '../../support/wire/uploading.js';

const dataDir = makeDataDir();
let server: ServerProcess;
let file: Buffer;
let firstBytes: number;
/** Of an asset whose upload was not interrupted. */
let reference: Record<string, string>;

const { create, read, get, untilPlayable, segmentsOf, sendRest } = earlyUploads(() => server);

beforeAll(async () => {
  file = await readFile(await fixture('long-index-first.mp4'));
  firstBytes = Math.floor(file.length * 0.6);
  server = await startServer({ dataDir });
  const { id } = await create();
  await sendRest(id, file);
  const asset = await settled(server, (await read(id)).asset_id!);
  reference = await playAll(server.url, asset.playback_ids![0]!.id);
});
afterAll(cleanUpServers);

/**
 * The upload has come to the step at which the server is killed; returns the playback ID if it
 * plays.
 */
type Step = (upload: WireUpload) => Promise<string | undefined>;

const sendPart = (url: string, until: number) => sendChunk(url, file, 0, until, file.length);
const playing: Step = async ({ id, url }) => {
  expect((await sendPart(url!, firstBytes)).status).toBe(308);
  return untilPlayable(id);
};
const logged = (id: string, message: string): Promise<void> =>
  until(message, () =>
    server.log().some(({ msg, upload_id, asset_id }) => msg === message && (upload_id ?? asset_id) === id),
  );

const steps: Readonly<Record<string, Step>> = {
  'before its index has arrived': async ({ url }) => {
    expect((await sendPart(url!, 1000)).status).toBe(308);
    return undefined;
  },
  'as soon as it is announced': async ({ id, url }) => {
    void sendPart(url!, firstBytes).catch(() => undefined);
    await logged(id, 'upload plays early');
    return (await read(id)).early_playback_ids![0]!.id;
  },
  'within a request, with segments made from bytes that were not acknowledged': async ({ id, url }) => {
    const sending = openRequest(url!, { 'content-length': file.length });
    await sending.send(file.subarray(0, firstBytes));
    const playbackId = await untilPlayable(id);
    expect((await get((await segmentsOf(playbackId))[0]!)).status).toBe(200);
    return playbackId;
  },
  'while its last bytes are stored': async (upload) => {
    const playbackId = await playing(upload);
    const sending = openRequest(upload.url!, {
      'content-range': `bytes ${firstBytes}-${file.length - 1}/${file.length}`,
      'content-length': file.length - firstBytes,
    });
    await sending.send(file.subarray(firstBytes));
    return playbackId;
  },
  'when its asset was just created': async (upload) => {
    const playbackId = await playing(upload);
    expect((await sendChunk(upload.url!, file, firstBytes, file.length)).status).toBe(200);
    return playbackId;
  },
  'while its asset is prepared': async (upload) => {
    const playbackId = await playing(upload);
    await sendChunk(upload.url!, file, firstBytes, file.length);
    await logged((await read(upload.id)).asset_id!, 'source probed');
    return playbackId;
  },
};

it.each(Object.entries(steps))('the server is killed %s', async (_title, step) => {
  const upload = await create();
  const playbackId = await step(upload);
  await server.kill();
  server = await startServer({ dataDir });
  const { id } = upload;
  const isCreated = async () => (await read(id)).status === 'asset_created';
  // After the last byte, the start itself may complete the upload.
  if (!(await isCreated())) await sendRest(id, file);
  await until('the asset exists', isCreated);
  const asset = await settled(server, (await read(id)).asset_id!);
  expect(asset.status).toBe('ready');
  if (playbackId) expect(asset.playback_ids![0]!.id).toBe(playbackId);
  expect(await playAll(server.url, asset.playback_ids![0]!.id)).toEqual(reference);
  const blobDir = join(dataDir, 'blobs');
  expect(digest((await storedIn(blobDir, asset.id)).source!)).toBe(digest(file));
  expect(filesOf(join(blobDir, '.partial'), asset.id)).toEqual([]);
});
