import { randomBytes } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, startApi } from '../../support/servers/api.js';
import { until } from '../../support/servers/server-process.js';
import { expectError, NOT_FOUND } from '../../support/wire/expect-error.js';
import {
  askStatus,
  filesOf,
  openRequest,
  sendBytes,
  sendChunk,
  storedIn,
  type WireUpload,
} from '../../support/wire/uploading.js';

const MAX = 4 * 2 ** 20;
const file = randomBytes(300_000);
const N = file.length;
const GONE = 'This upload is no longer accepting data.';

let api: Api;
beforeAll(async () => {
  api = await startApi({ maxUploadBytes: MAX });
});
afterAll(() => api?.stop());

const create = async (body: object = {}): Promise<{ id: string; url: string; assetId: string }> => {
  const response = await api.call('POST', '/video/v1/uploads', body);
  const { data } = (await response.json()) as { data: WireUpload };
  const row = await api.database.queryable
    .selectFrom('upload')
    .select('target_asset_id')
    .where('id', '=', data.id)
    .executeTakeFirstOrThrow();
  return { id: data.id, url: data.url!, assetId: row.target_asset_id };
};
const read = async (id: string): Promise<WireUpload> =>
  (await (await api.call('GET', `/video/v1/uploads/${id}`)).json()).data;
const cancel = (id: string) => api.call('PUT', `/video/v1/uploads/${id}/cancel`);

/** 308 without a body; `stored` bytes have come. */
const expectMore = async (response: Response, stored: number): Promise<void> => {
  expect({ status: response.status, range: response.headers.get('range'), body: await response.text() }).toEqual({
    status: 308,
    range: stored === 0 ? null : `bytes=0-${stored - 1}`,
    body: '',
  });
};
const expectDone = async (response: Response): Promise<void> => {
  expect({ status: response.status, body: await response.text() }).toEqual({ status: 200, body: '' });
};
const expectAsset = async ({ id, assetId }: { id: string; assetId: string }, bytes = file): Promise<void> => {
  expect(await read(id)).toMatchObject({ status: 'asset_created', asset_id: assetId });
  const asset = await (await api.call('GET', `/video/v1/assets/${assetId}`)).json();
  expect(asset.data).toMatchObject({ upload_id: id, ingest_type: 'on_demand_direct_upload', status: 'preparing' });
  const { source, partial } = await storedIn(api.blobDir, assetId);
  expect(partial).toBeUndefined();
  expect(source!.equals(bytes)).toBe(true);
};

describe('a request to an upload address', () => {
  it('with a chunk that ends before the file does: 308 and how much has come', async () => {
    const upload = await create();
    await expectMore(await sendChunk(upload.url, file, 0, 100_000), 100_000);
    await expectMore(await sendChunk(upload.url, file, 100_000, 250_001), 250_001);
    expect((await storedIn(api.blobDir, upload.assetId)).partial!.equals(file.subarray(0, 250_001))).toBe(true);
    expect((await read(upload.id)).status).toBe('waiting');
  });

  it('with a chunk that overlaps what has come: only what is new is stored', async () => {
    const upload = await create();
    await sendChunk(upload.url, file, 0, 100_000);
    await expectMore(await sendChunk(upload.url, file, 50_000, 150_000), 150_000);
    await expectDone(await sendChunk(upload.url, file, 1, N));
    await expectAsset(upload);
  });

  it('with a chunk that has come already: 308, and nothing is stored again', async () => {
    const upload = await create();
    await sendChunk(upload.url, file, 0, 100_000);
    const other = randomBytes(N);
    await expectMore(await sendChunk(upload.url, other, 0, 100_000), 100_000);
    await expectMore(await sendChunk(upload.url, other, 20, 30), 100_000);
    expect((await storedIn(api.blobDir, upload.assetId)).partial!.equals(file.subarray(0, 100_000))).toBe(true);
  });

  it('with the last chunk: 200, and the asset is there before the answer', async () => {
    const upload = await create({ new_asset_settings: { passthrough: 'x', playback_policy: 'public' } });
    await sendChunk(upload.url, file, 0, 262_144);
    await expectDone(await sendChunk(upload.url, file, 262_144, N));
    await expectAsset(upload);
    const { data } = await (await api.call('GET', `/video/v1/assets/${upload.assetId}`)).json();
    expect(data).toMatchObject({ passthrough: 'x', playback_ids: [{ policy: 'public' }] });
    const info = await (await api.call('GET', `/video/v1/assets/${upload.assetId}/input-info`)).json();
    expect(info.data).toEqual([{ settings: {} }]);
    expect(await read(upload.id)).not.toHaveProperty('url');
  });

  it('with a single chunk that is the file: 200', async () => {
    const upload = await create();
    await expectDone(await sendChunk(upload.url, file, 0, N));
    await expectAsset(upload);
  });

  it('with the last chunk once more: 200; with an earlier one: 308', async () => {
    const upload = await create();
    await sendChunk(upload.url, file, 0, N);
    await expectDone(await sendChunk(upload.url, file, 200_000, N));
    await expectDone(await sendChunk(upload.url, file, 0, N));
    await expectMore(await sendChunk(upload.url, file, 0, 200_000), N);
    await expectAsset(upload);
  });

  it('with a chunk behind a gap: 416 and how much has come', async () => {
    const upload = await create();
    const early = await sendChunk(upload.url, file, 10, 20);
    expect([early.status, early.headers.get('range')]).toEqual([416, null]);
    expect(await early.json()).toEqual({
      error: { type: 'range_not_satisfiable', messages: ['The bytes before this chunk have not been received.'] },
    });
    await sendChunk(upload.url, file, 0, 100);
    const later = await sendChunk(upload.url, file, 101, N);
    expect([later.status, later.headers.get('range')]).toEqual([416, 'bytes=0-99']);
    await expectMore(await askStatus(upload.url, '*'), 100);
  });

  it('with a chunk of a file of unknown size: 308 until the size is told', async () => {
    const upload = await create();
    await expectMore(await sendChunk(upload.url, file, 0, 100_000, '*'), 100_000);
    await expectMore(await sendChunk(upload.url, file, 100_000, N, '*'), N);
    await expectMore(await askStatus(upload.url, '*'), N);
    await expectDone(await askStatus(upload.url, N));
    await expectAsset(upload);
  });

  it('with a question for the status: 308 and how much has come, 200 when complete', async () => {
    const upload = await create();
    await expectMore(await askStatus(upload.url, '*'), 0);
    await expectMore(await askStatus(upload.url, N), 0);
    await sendChunk(upload.url, file, 0, 1);
    await expectMore(await askStatus(upload.url, N), 1);
    await sendChunk(upload.url, file, 1, N);
    await expectDone(await askStatus(upload.url, N));
    await expectDone(await askStatus(upload.url, '*'));
  });

  it.each(['PUT', 'POST', 'PATCH'])('with the whole file by %s: 200', async (method) => {
    const upload = await create();
    await expectDone(await sendBytes(upload.url, file, {}, method));
    await expectAsset(upload);
  });

  it('with the whole file in place of chunks of another one: 200', async () => {
    const upload = await create();
    await sendChunk(upload.url, randomBytes(500_000), 0, 400_000);
    await expectDone(await sendBytes(upload.url, file));
    await expectAsset(upload);
    await expectDone(await sendBytes(upload.url, file));
  });

  it('with the whole file in pieces of unknown number: 200', async () => {
    const upload = await create();
    const sending = openRequest(upload.url, {});
    await sending.send(file.subarray(0, 1000));
    await sending.send(file.subarray(1000));
    sending.request.end();
    expect((await sending.response()).status).toBe(200);
    await expectAsset(upload);
  });

  it('that waits to be asked for its body: is asked, or answered at once', async () => {
    const upload = await create();
    const waiting = openRequest(upload.url, { 'content-length': N, expect: '100-continue' });
    waiting.request.once('continue', () => waiting.request.end(file));
    expect((await waiting.response()).status).toBe(200);
    await expectAsset(upload);
    const cancelled = await create();
    await cancel(cancelled.id);
    const refused = openRequest(cancelled.url, { 'content-length': N, expect: '100-continue' });
    let asked = false;
    refused.request.once('continue', () => (asked = true));
    expect([(await refused.response()).status, asked]).toEqual([410, false]);
    const created = openRequest(
      `${api.origin}/video/v1/uploads`,
      {
        authorization: `Basic ${Buffer.from(api.token).toString('base64')}`,
        'content-type': 'application/json',
        'content-length': 2,
        expect: '100-continue',
      },
      'POST',
    );
    created.request.once('continue', () => created.request.end('{}'));
    expect((await created.response()).status).toBe(201);
  });

  it.each([
    ['no unit', '0-9/10', 'Content-Range must be bytes <first>-<last>/<size>.'],
    ['another unit', 'items 0-9/10', 'Content-Range must be bytes <first>-<last>/<size>.'],
    ['no size', 'bytes 0-9', 'Content-Range must be bytes <first>-<last>/<size>.'],
    ['a negative start', 'bytes -1-9/10', 'Content-Range must be bytes <first>-<last>/<size>.'],
    ['a number too long', `bytes 0-9/${'9'.repeat(16)}`, 'Content-Range must be bytes <first>-<last>/<size>.'],
    ['nothing', '', 'Content-Range must be bytes <first>-<last>/<size>.'],
    ['an end before the start', 'bytes 9-0/10', 'Content-Range ends before it starts.'],
    ['an end past the size', 'bytes 1-10/10', 'Content-Range goes past the size of the file.'],
    ['the range of an empty file', 'bytes 0-0/0', 'Content-Range goes past the size of the file.'],
    ['a longer range than the body', 'bytes 0-10/20', 'Content-Length is not the length of Content-Range.'],
    ['a shorter range than the body', 'bytes 0-8/20', 'Content-Length is not the length of Content-Range.'],
    ['a question that has a body', 'bytes */10', 'A request for the status has no body.'],
  ])('with a Content-Range of %s: 400, nothing is stored', async (_name, range, message) => {
    const upload = await create();
    const response = await sendBytes(upload.url, file.subarray(0, 10), { 'content-range': range });
    await expectError(response, 400, 'invalid_parameters', [message]);
    expect(filesOf(api.blobDir, upload.assetId)).toEqual([]);
    expect((await read(upload.id)).status).toBe('waiting');
  });

  it('with another size than before: 400', async () => {
    const upload = await create();
    await sendChunk(upload.url, file, 0, 100, 1000);
    const messages = ['The size of the file was 1000 bytes in an earlier request.'];
    await expectError(await sendChunk(upload.url, file, 100, 200, 1001), 400, 'invalid_parameters', messages);
    await expectError(await askStatus(upload.url, 999), 400, 'invalid_parameters', messages);
    await expectError(await sendChunk(upload.url, file, 100, 1001, '*'), 400, 'invalid_parameters', [
      'Content-Range goes past the size of the file.',
    ]);
    await expectMore(await askStatus(upload.url, 1000), 100);
    await sendChunk(upload.url, file, 100, 1000, 1000);
    await expectError(await sendChunk(upload.url, file, 100, 1000, 1001), 400, 'invalid_parameters', messages);
    await expectError(await sendBytes(upload.url, file), 400, 'invalid_parameters', messages);
  });

  it('with a size smaller than what has come: 400', async () => {
    const upload = await create();
    await sendChunk(upload.url, file, 0, 100, '*');
    await expectError(await askStatus(upload.url, 99), 400, 'invalid_parameters', [
      'More than 99 bytes have already been received.',
    ]);
  });

  it('with a body in pieces that is not as long as its range: 400', async () => {
    const upload = await create();
    const short = openRequest(upload.url, { 'content-range': 'bytes 0-99/200' });
    short.request.end(file.subarray(0, 50));
    const shortResponse = await short.response();
    expect([shortResponse.status, JSON.parse(shortResponse.body).error.messages]).toEqual([
      400,
      ['The body is shorter than Content-Range.'],
    ]);
    await expectMore(await askStatus(upload.url, 200), 50);
    const long = openRequest(upload.url, { 'content-range': 'bytes 50-99/200' });
    long.request.end(file.subarray(50, 120));
    const longResponse = await long.response();
    expect([longResponse.status, JSON.parse(longResponse.body).error.messages]).toEqual([
      400,
      ['The body is longer than announced.'],
    ]);
    expect((await read(upload.id)).status).toBe('waiting');
  });

  it.each<[string, Record<string, string | number>]>([
    ['a chunk', { 'content-range': `bytes 0-${N - 1}/${N}`, 'content-length': N }],
    ['a file of known length', { 'content-length': N }],
    ['a file in pieces', {}],
  ])('cut in the middle of %s: what came is kept', async (_name, headers) => {
    const upload = await create();
    const cut = openRequest(upload.url, headers);
    await cut.send(file.subarray(0, 123_456));
    // The bytes are in memory until the request ends, so that only the end shows what was kept.
    await until('the request has begun', async () => filesOf(api.blobDir, upload.assetId).length > 0);
    cut.cut();
    let kept: Buffer | undefined;
    await until('the bytes are stored, and their number is told', async () => {
      const status = await askStatus(upload.url, '*');
      ({ partial: kept } = await storedIn(api.blobDir, upload.assetId));
      return kept && status.status === 308 && status.headers.get('range') === `bytes=0-${kept.length - 1}`;
    });
    expect(kept!.equals(file.subarray(0, kept!.length))).toBe(true);
    await expectDone(await sendChunk(upload.url, file, 0, N));
    await expectAsset(upload);
  });

  it('while another one sends: 503, and the first goes on', async () => {
    const upload = await create();
    // No time passes meanwhile: a slow machine can't make the first one seem silent.
    const { monotonicMs } = api.clock;
    const nowMs = monotonicMs();
    api.clock.monotonicMs = () => nowMs;
    const first = openRequest(upload.url, { 'content-range': `bytes 0-${N - 1}/${N}`, 'content-length': N });
    await first.send(file.subarray(0, 1000));
    await until('the request has begun', () => filesOf(api.blobDir, upload.assetId).length > 0);
    const second = await sendChunk(upload.url, file, 0, N);
    expect(second.headers.get('retry-after')).toBe('2');
    await expectError(second, 503, 'unavailable', ['Another request is sending data.']);
    api.clock.monotonicMs = monotonicMs;
    first.request.end(file.subarray(1000));
    expect((await first.response()).status).toBe(200);
    await expectAsset(upload);
  });

  it('while a silent one is open: takes its place, with what that had sent', async () => {
    const upload = await create();
    const silent = openRequest(upload.url, { 'content-range': `bytes 0-${N - 1}/${N}`, 'content-length': N });
    await silent.send(file.subarray(0, 1000));
    await until('the request has begun', () => filesOf(api.blobDir, upload.assetId).length > 0);
    let response: Awaited<ReturnType<typeof sendChunk>>;
    // What it had sent may still be on its way, and then it has not been silent for so long.
    do {
      api.clock.aheadMs += 10_000;
      response = await sendChunk(upload.url, file, 0, N);
    } while (response.status === 503);
    await expectDone(response);
    // It is cut off; if its body wasn't being read yet, it is refused.
    const refusal = await silent.response().catch(() => undefined);
    expect(refusal?.status ?? 503).toBe(503);
    await expectAsset(upload);
  });

  it('with an empty file: 400, the upload waits', async () => {
    const upload = await create();
    await sendChunk(upload.url, file, 0, 100);
    const messages = ['The file is empty.'];
    for (const response of [
      await sendBytes(upload.url, undefined),
      await sendBytes(upload.url, new Uint8Array(0), { 'content-length': '0' }),
      await askStatus(upload.url, 0),
    ]) {
      await expectError(response, 400, 'invalid_parameters', messages);
    }
    await expectMore(await askStatus(upload.url, N), 100);
    const pieces = openRequest(upload.url, { 'transfer-encoding': 'chunked' });
    pieces.request.end();
    expect((await pieces.response()).status).toBe(400);
    expect((await read(upload.id)).status).toBe('waiting');
    await expectDone(await sendBytes(upload.url, file));
  });

  it('with more than the maximum: 413', async () => {
    const upload = await create();
    const messages = [`The file is larger than ${MAX} bytes.`];
    const large = Buffer.alloc(MAX + 1);
    await expectError(await sendBytes(upload.url, large), 413, 'payload_too_large', messages);
    await expectError(await sendChunk(upload.url, file, 0, 10, MAX + 1), 413, 'payload_too_large', messages);
    await expectError(await sendChunk(upload.url, large, 0, MAX + 1, '*'), 413, 'payload_too_large', messages);
    const pieces = openRequest(upload.url, {});
    pieces.request.end(large);
    expect((await pieces.response()).status).toBe(413);
    await expectMore(await askStatus(upload.url, '*'), 0);
    await expectDone(await sendBytes(upload.url, large.subarray(1)));
  });

  it.each([
    ['no signature', (url: URL) => url.searchParams.delete('sig')],
    ['another signature', (url: URL) => url.searchParams.set('sig', 'x'.repeat(43))],
    ['a later end', (url: URL) => url.searchParams.set('expires', '9999999999')],
    ['no end', (url: URL) => url.searchParams.delete('expires')],
    ['two signatures', (url: URL) => url.searchParams.append('sig', 'x')],
  ])('with %s: 403', async (_name, change) => {
    const upload = await create();
    const url = new URL(upload.url);
    change(url);
    const response = await sendBytes(url.href, file);
    await expectError(response, 403, 'forbidden', ['The upload URL is not valid.']);
    expect(filesOf(api.blobDir, upload.assetId)).toEqual([]);
  });

  it('with the signature of another upload: 403', async () => {
    const [one, other] = [await create(), await create()];
    const response = await sendBytes(one.url.replace(one.id, other.id), file);
    await expectError(response, 403, 'forbidden', ['The upload URL is not valid.']);
  });

  it('of an unknown upload: 404', async () => {
    for (const id of ['A'.repeat(40), 'short', 'a%00b']) {
      await expectError(await sendBytes(`${api.origin}/u/${id}?expires=1&sig=x`, file), 404, 'not_found', [NOT_FOUND]);
    }
  });

  it('of a cancelled, a timed out or a failed upload: 410, nothing is stored', async () => {
    for (const status of ['cancelled', 'timed_out', 'errored'] as const) {
      const upload = await create();
      await api.database.queryable.updateTable('upload').set({ status }).where('id', '=', upload.id).execute();
      await expectError(await sendBytes(upload.url, file), 410, 'gone', [GONE]);
      await expectError(await sendChunk(upload.url, file, 0, 10), 410, 'gone', [GONE]);
      await expectError(await askStatus(upload.url, '*'), 410, 'gone', [GONE]);
      expect(filesOf(api.blobDir, upload.assetId)).toEqual([]);
    }
  });

  it('by another method: 405', async () => {
    const upload = await create();
    for (const method of ['GET', 'DELETE', 'PROPFIND', 'QUERY', 'MKCOL']) {
      const response = await fetch(upload.url, { method });
      expect(response.headers.get('allow')).toBe('PUT, POST, PATCH, OPTIONS');
      await expectError(response, 405, 'method_not_allowed', ['Method not allowed']);
    }
    expect((await fetch(upload.url, { method: 'HEAD' })).status).toBe(405);
    // What is refused here stays unknown elsewhere.
    expect((await fetch(`${api.origin}/no/page`, { method: 'PROPFIND' })).status).toBe(404);
    expect((await api.call('PROPFIND', '/video/v1/uploads')).status).toBe(405);
    expect((await api.call('PROPFIND', '/video/v1/nothing')).status).toBe(404);
  });

  it.each(['video/*', 'application/json', 'multipart/form-data', '', 'no type at all', 'text/plain; charset="'])(
    'of type %j: 200, whatever it says',
    async (type) => {
      const upload = await create();
      await expectDone(await sendBytes(upload.url, file, { 'content-type': type }));
      await expectAsset(upload);
    },
  );
});

describe('a last byte that was stored just before the server was killed', () => {
  /** The file is in its place, and nothing else has happened. */
  const createStored = async () => {
    const upload = await create();
    await sendChunk(upload.url, file, 0, 100);
    await rm(join(api.blobDir, '.partial', `assets~${upload.assetId}~source`));
    await mkdir(join(api.blobDir, 'assets', upload.assetId), { recursive: true });
    await writeFile(join(api.blobDir, 'assets', upload.assetId, 'source'), file);
    expect((await read(upload.id)).status).toBe('waiting');
    return upload;
  };

  it.each<[string, (url: string) => Promise<Response>]>([
    ['a question for the status', (url) => askStatus(url, N)],
    ['the last chunk once more', (url) => sendChunk(url, file, 100, N)],
    ['the file once more', (url) => sendBytes(url, file)],
  ])('makes the asset with %s', async (_name, send) => {
    const upload = await createStored();
    await expectDone(await send(upload.url));
    await expectAsset(upload);
  });

  it('makes the asset at the next start, or at the end of its time', async () => {
    const upload = await createStored();
    const [settle] = api.uploadWorkers.filter(({ queue }) => queue.name === 'settle-uploads');
    await settle!.handler({} as never, {} as never);
    await expectAsset(upload);
    const late = await createStored();
    const [timeOut] = api.uploadWorkers.filter(({ queue }) => queue.name === 'time-out-upload');
    await timeOut!.handler({ payload: { uploadId: late.id } } as never, {} as never);
    await expectAsset(late);
  });
});

describe('what the storage or the settings do not allow', () => {
  it('ends the upload when its bytes cannot be stored', async () => {
    const upload = await create();
    // A source that is a directory: the finished file cannot take its name.
    await mkdir(`${api.blobDir}/assets/${upload.assetId}/source/occupied`, { recursive: true });
    await expectError(await sendBytes(upload.url, file), 410, 'gone', [GONE]);
    expect(await read(upload.id)).toMatchObject({
      status: 'errored',
      error: { type: 'internal_error', message: 'The uploaded data could not be stored.' },
    });
    expect(await read(upload.id)).not.toHaveProperty('asset_id');
    const { partial } = await storedIn(api.blobDir, upload.assetId);
    expect(partial).toBeUndefined();
  });

  it('ends the upload when its settings refer to what has gone', async () => {
    const upload = await create();
    await api.database.queryable
      .updateTable('upload')
      .set({ new_asset_settings: JSON.stringify({ directives: [{ id: 'drv_gone' }] }) })
      .where('id', '=', upload.id)
      .execute();
    await expectError(await sendBytes(upload.url, file), 410, 'gone', [GONE]);
    expect(await read(upload.id)).toMatchObject({
      status: 'errored',
      error: {
        type: 'invalid_parameters',
        message: 'new_asset_settings.directives[0].id does not refer to an existing directive',
      },
    });
    expect((await api.call('GET', `/video/v1/assets/${upload.assetId}`)).status).toBe(404);
    expect(filesOf(api.blobDir, upload.assetId)).toEqual([]);
  });
});
