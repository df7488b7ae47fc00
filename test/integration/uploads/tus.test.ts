import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as tus from 'tus-js-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { filesBelow, until } from '../../support/servers/server-process.js';
import { api, settled, type WireAsset } from '../../support/wire/create-asset.js';
import { type OpenRequest, openRequest } from '../../support/wire/uploading.js';

const VERSION = { 'tus-resumable': '1.0.0' };
const PART = { ...VERSION, 'content-type': 'application/offset+octet-stream' };
const ORIGIN = 'https://studio.example.org';
const MAX_BYTES = 50_000_000;

let server: Booted;
let video: Buffer;
let passedMs = 0;
/** While it is set no time passes, so that a slow machine can't make a sender seem silent. */
let stoppedMs: number | undefined;

beforeAll(async () => {
  video = await readFile(await fixture('h264-aac.mp4'));
  server = await boot({
    options: { MAX_SOURCE_SIZE: String(MAX_BYTES) },
    clock: { now: () => new Date(Date.now() + passedMs), monotonicMs: () => stoppedMs ?? performance.now() },
  });
});
afterAll(() => server.stop());

interface WireUpload {
  readonly id: string;
  readonly url: string;
  readonly tusUrl: string;
}

const createUpload = async (fields: object = {}): Promise<WireUpload> => {
  const body = { cors_origin: ORIGIN, new_asset_settings: { playback_policies: ['public'] }, ...fields };
  const response = await api(server, 'POST', '/video/v1/uploads', body);
  const { data } = (await response.json()) as { data: { id: string; url: string } };
  return { ...data, tusUrl: data.url.replace('/u/', '/tus/') };
};

const readUpload = async (id: string): Promise<{ status: string; asset_id?: string }> =>
  ((await (await api(server, 'GET', `/video/v1/uploads/${id}`)).json()) as { data: { status: string } }).data;

const create = (url: string, sizeBytes: number) =>
  fetch(url, { method: 'POST', headers: { ...VERSION, 'upload-length': String(sizeBytes) } });
const head = (url: string) => fetch(url, { method: 'HEAD', headers: VERSION });
const patch = (url: string, offset: number, body: Uint8Array, headers: Record<string, string> = {}) =>
  fetch(url, {
    method: 'PATCH',
    headers: { ...PART, 'upload-offset': String(offset), ...headers },
    body: new Uint8Array(body),
  });

const offsetOf = (response: Response): number => Number(response.headers.get('upload-offset') ?? Number.NaN);

/**
 * A part of which nothing has been sent yet, once the server asks for it: then it holds the place
 * of the sender.
 */
const openPatch = async (url: string, announced: number): Promise<OpenRequest> => {
  const headers = { ...PART, 'upload-offset': 0, 'content-length': announced, expect: '100-continue' };
  const sending = openRequest(url, headers, 'PATCH');
  await once(sending.request, 'continue');
  return sending;
};

/** A part whose sender goes away after `sent`: nothing says that more would come. */
const cutPatch = async (url: string, sent: Uint8Array, announced: number): Promise<void> => {
  stoppedMs = performance.now();
  const sending = await openPatch(url, announced);
  await sending.send(sent);
  expect((await head(url)).status).toBe(423);
  stoppedMs = undefined;
  sending.cut();
  await until('the connection is gone', async () => (await head(url)).status === 200);
};

const storedBytes = async (assetId: string): Promise<Buffer> => {
  const found = filesBelow(server.dataDir).filter((path) => path.includes(assetId) && path.endsWith('/source'));
  expect(found).toHaveLength(1);
  return readFile(join(server.dataDir, found[0]!));
};

const expectOneReadyAsset = async (uploadId: string): Promise<void> => {
  const { status, asset_id: assetId } = await readUpload(uploadId);
  expect(status).toBe('asset_created');
  const assets = await api(server, 'GET', `/video/v1/assets?upload_id=${uploadId}`);
  expect(((await assets.json()) as { data: WireAsset[] }).data.map(({ id }) => id)).toEqual([assetId]);
  expect((await storedBytes(assetId!)).equals(video)).toBe(true);
  expect(await settled(server, assetId!)).toMatchObject({ status: 'ready', upload_id: uploadId });
};

describe('tus', () => {
  it('takes a file in parts, each where the one before ended, and makes one asset', async () => {
    const { id, tusUrl } = await createUpload();
    const created = await create(tusUrl, video.length);
    expect([created.status, created.headers.get('location')]).toEqual([201, tusUrl]);
    const fresh = await head(tusUrl);
    expect([fresh.status, offsetOf(fresh), fresh.headers.get('upload-length')]).toEqual([200, 0, `${video.length}`]);
    expect(fresh.headers.get('cache-control')).toBe('no-store');
    expect(fresh.headers.get('tus-resumable')).toBe('1.0.0');

    const first = await patch(tusUrl, 0, video.subarray(0, 50_000));
    expect([first.status, offsetOf(first)]).toEqual([204, 50_000]);
    for (const wrong of [0, 49_999, 50_001]) {
      expect((await patch(tusUrl, wrong, video.subarray(wrong, wrong + 1000))).status).toBe(409);
    }
    expect(offsetOf(await head(tusUrl))).toBe(50_000);
    expect((await patch(tusUrl, 50_000, Buffer.concat([video.subarray(50_000), video]))).status).toBe(413);
    expect(await readUpload(id)).toMatchObject({ status: 'waiting' });

    const { length } = video;
    const second = await patch(tusUrl, 50_000, video.subarray(50_000));
    expect([second.status, offsetOf(second)]).toEqual([204, length]);
    // The answer may have been lost on its way: whatever the client asks next says that all is
    // there.
    expect(offsetOf(await head(tusUrl))).toBe(length);
    expect((await patch(tusUrl, 50_000, video.subarray(50_000))).status).toBe(409);
    expect((await create(tusUrl, length)).status).toBe(201);
    expect(offsetOf(await head(tusUrl))).toBe(length);
    expect((await create(tusUrl, length + 1)).status).toBe(400);
    await expectOneReadyAsset(id);
  });

  it('goes on after a cut, keeps what had come, and lets nobody in between', async () => {
    const { id, tusUrl } = await createUpload();
    await create(tusUrl, video.length);
    await cutPatch(tusUrl, video.subarray(0, 60_000), video.length);
    const received = offsetOf(await head(tusUrl));
    expect(received).toBe(60_000);
    expect((await patch(tusUrl, received, video.subarray(received))).status).toBe(204);
    await expectOneReadyAsset(id);
  });

  it('lets nobody send while another request does, and the first go on', async () => {
    const { id, tusUrl } = await createUpload();
    await create(tusUrl, video.length);
    stoppedMs = performance.now();
    const first = await openPatch(tusUrl, video.length);
    await first.send(video.subarray(0, 1000));
    const refused = await patch(tusUrl, 0, video);
    expect([refused.status, await refused.json()]).toEqual([
      423,
      { error: { type: 'unavailable', messages: ['Another request is sending data.'] } },
    ]);
    expect((await create(tusUrl, video.length)).status).toBe(423);
    stoppedMs = undefined;
    first.request.end(video.subarray(1000));
    const response = await first.response();
    expect([response.status, response.headers['upload-offset']]).toEqual([204, String(video.length)]);
    await expectOneReadyAsset(id);
  });

  it('keeps what a client that gives up had sent, until its time ends', async () => {
    const giveUp = async (tusUrl: string) => {
      const upload = new tus.Upload(video, { endpoint: tusUrl, chunkSize: 70_000, retryDelays: null });
      await new Promise<void>((resolve, reject) => {
        upload.options.onError = reject;
        upload.options.onChunkComplete = () => void upload.abort().then(resolve, reject);
        upload.start();
      });
      // Nobody but the owner of the token ends an upload: a request to remove it is refused.
      await expect(upload.abort(true)).rejects.toThrow('405');
      await until('the last request has ended', async () => (await head(tusUrl)).status === 200);
      expect(offsetOf(await head(tusUrl))).toBeGreaterThanOrEqual(70_000);
    };
    const [resumed, forgotten] = [await createUpload(), await createUpload({ timeout: 60 })];
    for (const { tusUrl } of [resumed, forgotten]) await giveUp(tusUrl);
    await new Promise<void>((resolve, reject) => {
      const options = { uploadUrl: resumed.tusUrl, retryDelays: null, onError: reject, onSuccess: () => resolve() };
      new tus.Upload(video, options).start();
    });
    await expectOneReadyAsset(resumed.id);
    const unfinished = () => filesBelow(server.dataDir).filter((path) => path.includes('.partial')).length;
    const before = unfinished();
    passedMs += 61_000;
    await until('its time is over', async () => (await readUpload(forgotten.id)).status === 'timed_out');
    await until('its bytes are removed', () => unfinished() < before);
    expect((await head(forgotten.tusUrl)).status).toBe(410);
  });

  it('goes on where PUT requests ended', async () => {
    const { id, url, tusUrl } = await createUpload();
    const range = `bytes 0-29999/${video.length}`;
    const part = new Uint8Array(video.subarray(0, 30_000));
    expect((await fetch(url, { method: 'PUT', headers: { 'content-range': range }, body: part })).status).toBe(308);
    const response = await head(tusUrl);
    expect([offsetOf(response), response.headers.get('upload-length')]).toEqual([30_000, String(video.length)]);
    const headers = { ...PART, 'x-http-method-override': 'PATCH', 'upload-offset': '30000' };
    const rest = new Uint8Array(video.subarray(30_000));
    expect((await fetch(tusUrl, { method: 'POST', headers, body: rest })).status).toBe(204);
    await expectOneReadyAsset(id);
  });

  it('begins anew when the file has another size', async () => {
    const { id, tusUrl } = await createUpload();
    await create(tusUrl, 1_000_000);
    await patch(tusUrl, 0, Buffer.alloc(5000));
    // Still the same file: what was stored counts.
    expect((await create(tusUrl, 1_000_000)).status).toBe(201);
    expect(offsetOf(await head(tusUrl))).toBe(5000);
    expect((await create(tusUrl, video.length)).status).toBe(201);
    expect(offsetOf(await head(tusUrl))).toBe(0);
    expect((await patch(tusUrl, 0, video)).status).toBe(204);
    await expectOneReadyAsset(id);
  });

  it('serves tus-js-client by creation, and by the address alone', async () => {
    for (const options of [
      (url: string) => ({ endpoint: url }),
      (url: string) => ({ uploadUrl: url, uploadLengthDeferred: true }),
    ]) {
      const { id, tusUrl } = await createUpload();
      await new Promise<void>((resolve, reject) => {
        const settings = { ...options(tusUrl), chunkSize: 70_000, retryDelays: null };
        new tus.Upload(video, { ...settings, onError: reject, onSuccess: () => resolve() }).start();
      });
      await expectOneReadyAsset(id);
    }
  });

  it('answers browsers of the origin of the upload, failures included', async () => {
    const { id, tusUrl } = await createUpload();
    const ask = (origin: string, method: string, headers: Record<string, string> = {}) =>
      fetch(tusUrl, { method, headers: { origin, ...headers } });
    const names = ['content-type', 'tus-resumable', 'upload-length', 'upload-metadata', 'upload-offset'];
    const wanted = { 'access-control-request-method': 'PATCH', 'access-control-request-headers': names.join(',') };
    const preflight = await ask(ORIGIN, 'OPTIONS', wanted);
    expect(preflight.status).toBe(204);
    const list = (response: Response, name: string) => (response.headers.get(name) ?? '').toLowerCase().split(/, */);
    expect(preflight.headers.get('access-control-allow-origin')).toBe(ORIGIN);
    expect(list(preflight, 'access-control-allow-methods')).toEqual(expect.arrayContaining(['post', 'head', 'patch']));
    expect(list(preflight, 'access-control-allow-headers')).toEqual(expect.arrayContaining(names));
    expect(preflight.headers.get('tus-version')).toBe('1.0.0');
    expect(preflight.headers.get('tus-extension')).toBe('creation,creation-defer-length');
    const readable = ['location', 'upload-offset', 'upload-length', 'tus-resumable'];
    const created = await ask(ORIGIN, 'POST', { ...VERSION, 'upload-length': '1000' });
    expect(created.headers.get('access-control-allow-origin')).toBe(ORIGIN);
    expect(list(created, 'access-control-expose-headers')).toEqual(expect.arrayContaining(readable));
    expect((await ask('https://elsewhere.example', 'HEAD', VERSION)).headers.has('access-control-allow-origin')).toBe(
      false,
    );
    await api(server, 'PUT', `/video/v1/uploads/${id}/cancel`);
    const gone = await ask(ORIGIN, 'HEAD', VERSION);
    expect([gone.status, gone.headers.get('access-control-allow-origin')]).toEqual([410, ORIGIN]);
    expect(list(gone, 'access-control-expose-headers')).toEqual(expect.arrayContaining(readable));
    const open = await createUpload({ cors_origin: '*' });
    const anybody = await fetch(open.tusUrl, { method: 'HEAD', headers: { ...VERSION, origin: ORIGIN } });
    expect(anybody.headers.get('access-control-allow-origin')).toBe('*');
  });

  it('refuses what is not for it', async () => {
    const { tusUrl } = await createUpload();
    const refused = async (got: Promise<Response>, status: number, type?: string) => {
      const { status: given, ...rest } = await got.then(async (response) => ({
        status: response.status,
        body: await response.text(),
        version: response.headers.get('tus-resumable'),
      }));
      expect([given, rest.body]).toEqual([status, expect.stringContaining(type ?? '')]);
      expect(rest.version, rest.body).toBe('1.0.0');
    };
    await refused(fetch(tusUrl, { method: 'POST', headers: { 'upload-length': '10' } }), 412);
    await refused(fetch(tusUrl, { method: 'POST', headers: VERSION }), 400);
    await refused(fetch(tusUrl, { method: 'POST', headers: { ...VERSION, 'upload-length': '-1' } }), 400);
    await refused(create(tusUrl, 0), 400, 'The file is empty.');
    await refused(create(tusUrl, MAX_BYTES + 1), 413);
    await refused(fetch(tusUrl, { method: 'GET', headers: VERSION }), 405, 'method_not_allowed');
    await refused(fetch(tusUrl, { method: 'DELETE', headers: VERSION }), 405, 'method_not_allowed');
    await refused(create(tusUrl.replace(/sig=.{4}/, 'sig=AAAA'), 10), 403, 'forbidden');
    await refused(create(tusUrl.replace(/\?.*/, ''), 10), 403, 'forbidden');
    await refused(create(tusUrl.replace(/tus\/.{4}/, 'tus/AAAA'), 10), 404, 'not_found');
    expect(offsetOf(await head(tusUrl))).toBe(0);
    await create(tusUrl, 10);
    const ten = new Uint8Array(10);
    await refused(patch(tusUrl, 0, ten, { 'tus-resumable': '0.2.2' }), 400);
    await refused(patch(tusUrl, 0, ten, { 'upload-offset': 'x' }), 400);
    await refused(patch(tusUrl, 0, ten, { 'upload-offset': '-1' }), 400);
    await refused(patch(tusUrl, 0, ten, { 'upload-length': '11' }), 400, 'invalid_parameters');
    await refused(fetch(tusUrl, { method: 'PATCH', headers: PART, body: ten }), 403, 'forbidden');
    await refused(patch(tusUrl, 0, new Uint8Array(11)), 413, 'payload_too_large');
    await refused(fetch(tusUrl, { method: 'PROPFIND', headers: VERSION }), 405, 'method_not_allowed');
    expect(offsetOf(await head(tusUrl))).toBe(0);
  });

  it('is gone when the upload is cancelled or its time is over', async () => {
    const cancelled = await createUpload();
    await create(cancelled.tusUrl, video.length);
    await patch(cancelled.tusUrl, 0, video.subarray(0, 1000));
    await api(server, 'PUT', `/video/v1/uploads/${cancelled.id}/cancel`);
    const late = await createUpload({ timeout: 60 });
    await create(late.tusUrl, video.length);
    await patch(late.tusUrl, 0, video.subarray(0, 1000));
    passedMs += 61_000;
    for (const { id, tusUrl } of [cancelled, late]) {
      expect((await head(tusUrl)).status).toBe(410);
      const response = await patch(tusUrl, 1000, video.subarray(1000));
      expect([response.status, await response.json()]).toEqual([
        410,
        { error: { type: 'gone', messages: ['This upload is no longer accepting data.'] } },
      ]);
      expect((await create(tusUrl, video.length)).status).toBe(410);
      expect((await readUpload(id)).asset_id).toBeUndefined();
    }
    expect((await readUpload(late.id)).status).toBe('timed_out');
  });
});
