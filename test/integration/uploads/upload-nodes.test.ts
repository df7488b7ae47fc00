import { createHash } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFailed } from 'vitest';
import { validateCreateUpload } from '#kinora/api/validate/create-upload.js';
import { wireFormat } from '#kinora/api/wire-format.js';
import type { Database } from '#kinora/db/database.js';
import { migrate } from '#kinora/db/migrate.js';
import { openDatabase } from '#kinora/db/open-database.js';
import type { Row } from '#kinora/db/schema.js';
import { findUploadById } from '#kinora/db/tables/assets/upload.js';
import { getInstallationSecret } from '#kinora/db/tables/server/installation.js';
import { bootstrap } from '#kinora/domain/access/bootstrap.js';
import type { DomainContext } from '#kinora/domain/context.js';
import { sweepUnfinished } from '#kinora/jobs/sweep-unfinished.js';
import { systemClock } from '#kinora/lib/clock.js';
import { createQueue } from '#kinora/queue/job-queue.js';
import { ObjectClient } from '#kinora/storage/s3/object-client.js';
import { S3BlobStore } from '#kinora/storage/s3/s3-blob-store.js';
import { cancelUpload } from '#kinora/uploads/cancel-upload.js';
import { createUpload } from '#kinora/uploads/create-upload.js';
import { UploadFiles } from '#kinora/uploads/upload-files.js';
import { UploadLeases } from '#kinora/uploads/upload-leases.js';
import { UploadSessions } from '#kinora/uploads/upload-sessions.js';
import { UploadUrls } from '#kinora/uploads/upload-urls.js';
import { quietLogger } from '../../support/logger.js';
import { fixture } from '../../support/media/fixtures.js';
import { boot } from '../../support/servers/boot.js';
import { freePort } from '../../support/servers/free-port.js';
import { hasPostgres, startPostgres, type TestPostgres } from '../../support/servers/postgres.js';
import { makeBucket } from '../../support/servers/s3-bucket.js';
import { until } from '../../support/servers/server-process.js';
import { type StrictS3Proxy, startStrictS3Proxy } from '../../support/servers/strict-s3-proxy.js';
import { type Swift, startSwift, swiftCredentials, swiftPath } from '../../support/servers/swift.js';
import { startUploadNode, type UploadNode } from '../../support/servers/upload-node.js';
import { earlyPlaybackOf, settled } from '../../support/wire/create-asset.js';
import { earlyUploads } from '../../support/wire/early-upload.js';
import { createBelow, putClient, rangeEnd, TUS, TUS_PATCH, tusClient } from '../../support/wire/upload-clients.js';
import { type OpenRequest, openRequest, sendBytes, sendChunk } from '../../support/wire/uploading.js';

const MIB = 2 ** 20;
const PART_BYTES = 5 * MIB;
const SEED = Number(process.env.KINORA_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const NODES = 3;
const KILLS = 4;

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

describe.runIf(swiftPath && hasPostgres())('uploads that any server continues', () => {
  let postgres: TestPostgres;
  let url: string;
  let swift: Swift;
  let proxy: StrictS3Proxy;
  let database: Database;
  let objects: ObjectClient;
  let context: DomainContext;
  let sessions: UploadSessions;
  let environmentId: string;
  const nodes: UploadNode[] = [];
  const directory = mkdtempSync(join(tmpdir(), 'kinora-nodes-'));
  let urls: UploadUrls;

  beforeAll(async () => {
    [postgres, swift] = await Promise.all([startPostgres(), startSwift()]);
    url = await postgres.createDatabase('kinora');
    database = await openDatabase({ url, dataDir: directory, logger: quietLogger });
    await migrate(database);
    await bootstrap(database, { dataDir: directory }, systemClock);
    environmentId = (await database.queryable.selectFrom('environment').select('id').executeTakeFirstOrThrow()).id;
    proxy = await startStrictS3Proxy(swift.url);
    await makeBucket(swift.settings('uploads'));
    objects = await ObjectClient.open(swift.settings('uploads'));
    context = { database, queue: createQueue(database), clock: systemClock, wire: wireFormat } as DomainContext;
    const blobs = await S3BlobStore.open({ objects, localDir: join(directory, 'own'), maxLocalBytes: MIB });
    const files = new UploadFiles({ context, blobs, logger: quietLogger });
    const leases = new UploadLeases(database);
    sessions = new UploadSessions({ context, blobs, files, leases, logger: quietLogger, maxBytes: 2 ** 30 });
    const settings = swift.settings('uploads', proxy.url);
    const secret = await getInstallationSecret(database.queryable);
    urls = new UploadUrls(secret, () => '');
    for (let index = 0; index < NODES; index += 1) {
      const localDir = join(directory, String(index));
      const port = await freePort();
      nodes.push(await startUploadNode({ url, settings, secret, localDir, partBytes: PART_BYTES, port }));
    }
  });
  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.stop()));
    objects?.close();
    await database?.close();
    await proxy?.stop();
    await Promise.all([swift?.close(), postgres?.stop()]);
    await rm(directory, { recursive: true, force: true });
  });
  beforeEach(() => {
    proxy.isAway = false;
  });

  const newUpload = async (): Promise<Row<'upload'>> => {
    const request = validateCreateUpload({ new_asset_settings: { playback_policies: ['public'] } }, 'basic');
    return createUpload(context, environmentId, request);
  };
  const putUrl = (node: number, upload: Row<'upload'>): string => nodes[node]!.url + urls.urlOf(upload);
  const tusUrl = (node: number, upload: Row<'upload'>): string => putUrl(node, upload).replace('/u/', '/tus/');
  const statusOf = async (upload: Row<'upload'>) => (await findUploadById(database.queryable, upload.id))!.status;
  const sourceOf = async (upload: Row<'upload'>): Promise<string> => {
    const object = await objects.open(`assets/${upload.target_asset_id}/source`, { start: 0 });
    const hash = createHash('sha256');
    for await (const chunk of object!.chunks) hash.update(chunk);
    return hash.digest('hex');
  };
  const restOf = async (upload: Row<'upload'>): Promise<string[]> => {
    const key = `assets/${upload.target_asset_id}/source`;
    const keys = (await objects.listParts(key)).map(({ uploadId }) => uploadId);
    for await (const tail of objects.list(`${key}-tails/`)) keys.push(tail.key);
    return keys;
  };

  /** What a broken connection leaves unknown is asked again. */
  const orUnknown = <T>(response: Promise<T>): Promise<T | undefined> =>
    response.catch((error: unknown) => {
      if (error instanceof TypeError) return undefined;
      throw error;
    });

  it('stores the same file and never takes an acknowledgment back, whatever is killed', async () => {
    console.log(`KINORA_TEST_SEED=${SEED}`);
    const choose = createBelow(SEED);
    const sizes = [
      1,
      PART_BYTES,
      2 * PART_BYTES,
      PART_BYTES + 1,
      choose(3 * PART_BYTES) + 1,
      choose(5 * PART_BYTES) + 1,
    ];
    let requests = 0;
    let kills = 0;
    let isDone = false;
    const doing: string[] = [];
    onTestFailed(() => console.error({ requests, kills, doing }));
    const upload = async (sizeBytes: number, index: number): Promise<void> => {
      const below = createBelow(SEED + index + 1);
      const isTus = index % 2 === 0;
      const row = await newUpload();
      const file = Buffer.alloc(sizeBytes, String(below(2 ** 31)));
      for (let at = 0; at < sizeBytes; at += 997) file[at] = below(256);
      if (isTus) {
        const created = { ...TUS, 'upload-defer-length': '1' };
        await until('the upload is created', async () => {
          const response = await orUnknown(sendBytes(tusUrl(below(NODES), row), undefined, created, 'POST'));
          return response?.status === 201;
        });
      }
      const declares = () => below(10) < 3;
      const path = urls.urlOf(row);
      const client = isTus ? tusClient(path.replace('/u/', '/tus/'), file, declares) : putClient(path, file);
      const anyNode = () => nodes[below(NODES)]!.url;
      let acknowledged = 0;
      const know = (response: number | 'complete' | undefined): void => {
        if (response === undefined) return;
        const received = response === 'complete' ? sizeBytes : response;
        expect(received).toBeGreaterThanOrEqual(acknowledged);
        acknowledged = received;
      };
      for (let tries = 0; (await statusOf(row)) !== 'asset_created'; tries += 1) {
        expect(tries, doing[index]).toBeLessThan(500);
        doing[index] = `${sizeBytes} bytes, asks for the ${tries + 1}th time`;
        const offset = await orUnknown(client.ask(anyNode()));
        know(offset);
        if (typeof offset !== 'number') {
          await pause(100);
          continue;
        }
        const most = below(2) === 0 ? MIB : 2 * PART_BYTES;
        const end = Math.min(sizeBytes, offset + 1 + below(most));
        requests += 1;
        doing[index] = `${sizeBytes} bytes, sends ${offset} to ${end}`;
        const response = await orUnknown(client.send(anyNode(), offset, end));
        if (typeof response === 'number') expect(response).toBe(end);
        know(response);
      }
      doing[index] = `${sizeBytes} bytes, is checked`;
      expect(await sourceOf(row)).toBe(hashOf(file));
      await until('nothing is left of it', async () => (await restOf(row)).length === 0 || (await sweep()));
      doing[index] = `${sizeBytes} bytes, done`;
    };
    const killer = async (): Promise<void> => {
      for (let at = 3; kills < KILLS && !isDone; at = requests + 2 + choose(6)) {
        // The uploads have limits of their own.
        await until('there are more requests', () => requests >= at || isDone, Number.POSITIVE_INFINITY);
        await pause(choose(60));
        if (isDone) return;
        await nodes[choose(NODES)]!.killAndRestart();
        kills += 1;
      }
    };
    const killing = killer();
    const uploads = sizes.map(upload);
    const results = await Promise.allSettled(uploads);
    isDone = true;
    await killing;
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    expect(kills).toBeGreaterThan(0);
    expect(proxy.violations).toEqual([]);
  });

  /** As a start does; false, so that it can be waited for what it removes. */
  const sweep = async (): Promise<false> => {
    const blobs = await S3BlobStore.open({ objects, localDir: join(directory, 'sweep'), maxLocalBytes: MIB });
    await sweepUnfinished({ database, blobs, logger: quietLogger });
    return false;
  };
  const rangeOf = (start: number, end: number, total: number | string) => ({
    'content-range': `bytes ${start}-${end - 1}/${total}`,
  });
  /** The connection is cut if the node was receiving at that moment. */
  const endOf = (request: OpenRequest): Promise<number | 'cut'> =>
    request.response().then(
      ({ status }) => status,
      () => 'cut',
    );
  /** A chunk of which `sent` has arrived at a node. */
  const openChunk = async (node: number, upload: Row<'upload'>, sent: Uint8Array, total: number) => {
    const headers = { ...rangeOf(0, total, total), 'content-length': total };
    const request = openRequest(putUrl(node, upload), headers);
    await request.send(sent);
    await until('the node has the lease', () => sessions.isOpen(upload.id));
    return request;
  };

  it('lets one server write; a silent one lets go with what it has', async () => {
    const upload = await newUpload();
    const file = Buffer.alloc(MIB, 'abcdefg');
    const first = await openChunk(0, upload, file.subarray(0, 1000), MIB);
    const second = await sendBytes(putUrl(1, upload), file, rangeOf(0, MIB, MIB));
    expect(second.status).toBe(503);
    await until('the first sender is silent', async () => {
      const response = await sendBytes(putUrl(1, upload), undefined, { 'content-range': `bytes */${MIB}` });
      return response.status === 308 && rangeEnd(response) === 1000;
    });
    expect([503, 'cut']).toContain(await endOf(first));
    const rest = await sendBytes(putUrl(1, upload), file.subarray(1000), rangeOf(1000, MIB, MIB));
    expect(rest.status).toBe(200);
    expect(await sourceOf(upload)).toBe(hashOf(file));
  });

  it('saves nothing of a server whose lease was taken', async () => {
    const upload = await newUpload();
    const leases = new UploadLeases(database);
    const stuck = await leases.take(upload.id);
    const empty = { multipartId: null, partBytes: PART_BYTES, parts: [], reservedParts: 0, tails: [] };
    await stuck.save({ ...empty, receivedBytes: 0 });
    await sql`update upload_transfer set lease_until = now() - interval '1 second'
      where upload_id = ${upload.id}`.execute(database.queryable);
    expect(await leases.isHeld(upload.id)).toBe(false);
    const next = await new UploadLeases(database).take(upload.id);
    const tails = [{ key: 'k', bytes: 7 }];
    await expect(stuck.save({ ...empty, tails, receivedBytes: 7 })).rejects.toMatchObject({ code: 'upload_busy' });
    expect(stuck.signal.aborted).toBe(true);
    await stuck.release();
    await next.save({ ...empty, receivedBytes: 0 });
    await next.release();
  });

  it('cancels at another server', async () => {
    const upload = await newUpload();
    const first = await openChunk(0, upload, Buffer.alloc(1000), MIB);
    expect((await cancelUpload(context, sessions, environmentId, upload.id)).status).toBe('cancelled');
    expect([410, 'cut']).toContain(await endOf(first));
    await until('nothing is left of it', async () => (await restOf(upload)).length === 0);
  });

  it('does not time out what another server receives', async () => {
    const upload = await newUpload();
    const first = await openChunk(0, upload, Buffer.alloc(1000, 'x'), 2000);
    await sql`update upload set expires_at = now() - interval '1 second' where id = ${upload.id}`.execute(
      database.queryable,
    );
    await sessions.settle(upload.id);
    expect(await statusOf(upload)).toBe('waiting');
    first.cut();
    await until('the end of the request decides', async () => (await statusOf(upload)) === 'timed_out');
  });

  it('answers 503 while S3 is away, and goes on where it was', async () => {
    const upload = await newUpload();
    const file = Buffer.alloc(PART_BYTES + 2 * MIB, 'hijklmn');
    const send = (node: number, start: number, end: number) =>
      sendBytes(putUrl(node, upload), file.subarray(start, end), rangeOf(start, end, file.length));
    expect((await send(0, 0, MIB)).status).toBe(308);
    proxy.isAway = true;
    expect((await send(0, MIB, file.length)).status).toBe(503);
    proxy.isAway = false;
    const ask = await sendBytes(putUrl(2, upload), undefined, { 'content-range': `bytes */${file.length}` });
    expect([ask.status, rangeEnd(ask)]).toEqual([308, MIB]);
    expect((await send(2, MIB, file.length)).status).toBe(200);
    expect(await sourceOf(upload)).toBe(hashOf(file));
  });

  it('keeps what it has acknowledged when S3 refuses the rest of a file', async () => {
    const upload = await newUpload();
    const file = Buffer.alloc(PART_BYTES + 2 * MIB, 'cdefghi');
    const send = (node: number, start: number, end: number) =>
      sendBytes(putUrl(node, upload), file.subarray(start, end), rangeOf(start, end, file.length));
    const received = PART_BYTES + MIB;
    expect((await send(0, 0, received)).status).toBe(308);
    const ask = () => sendBytes(putUrl(2, upload), undefined, { 'content-range': `bytes */${file.length}` });
    proxy.refuses = /^(PUT|POST) /;
    expect((await send(0, received, file.length)).status).toBe(503);
    proxy.refuses = undefined;
    const asked = await ask();
    expect([asked.status, rangeEnd(asked)]).toEqual([308, received]);
    proxy.refuses = /^POST .*uploadId=/;
    expect((await send(0, received, file.length)).status).toBe(503);
    proxy.refuses = undefined;
    expect((await ask()).status).toBe(200);
    expect(await sourceOf(upload)).toBe(hashOf(file));
  });

  it('sends a file again whose parts S3 refuses', async () => {
    const upload = await newUpload();
    const file = Buffer.alloc(PART_BYTES + 1000, 'defghij');
    const before = proxy.injected.wrongEtag;
    proxy.faults = { wrongEtag: true };
    const { status } = await sendBytes(putUrl(1, upload), file).finally(() => {
      proxy.faults = {};
    });
    expect(status).toBe(200);
    expect(proxy.injected.wrongEtag - before).toBe(2);
    expect(await sourceOf(upload)).toBe(hashOf(file));
    expect(await restOf(upload)).toEqual([]);
  });

  it('stores a tiny file whose length is declared with its last bytes', async () => {
    const upload = await newUpload();
    await sendBytes(tusUrl(0, upload), undefined, { ...TUS, 'upload-defer-length': '1' }, 'POST');
    const first = await sendBytes(
      tusUrl(1, upload),
      Buffer.from('ab'),
      { ...TUS_PATCH, 'upload-offset': '0' },
      'PATCH',
    );
    expect([first.status, first.headers.get('upload-offset')]).toEqual([204, '2']);
    const last = { ...TUS_PATCH, 'upload-offset': '2', 'upload-length': '3' };
    expect((await sendBytes(tusUrl(2, upload), Buffer.from('c'), last, 'PATCH')).status).toBe(204);
    expect(await statusOf(upload)).toBe('asset_created');
    expect(await sourceOf(upload)).toBe(hashOf(Buffer.from('abc')));
  });

  it('completes a file whose last request could not, when a tus client asks', async () => {
    const upload = await newUpload();
    const file = Buffer.from('abc');
    await sendBytes(tusUrl(0, upload), undefined, { ...TUS, 'upload-length': '3' }, 'POST');
    // The node has stored everything, and could not complete the object.
    proxy.refuses = /^POST .*uploadId=/;
    const headers = { ...TUS_PATCH, 'upload-offset': '0' };
    expect((await sendBytes(tusUrl(1, upload), file, headers, 'PATCH')).status).toBe(503);
    proxy.refuses = undefined;
    const asked = await sendBytes(tusUrl(2, upload), undefined, TUS, 'HEAD');
    expect([asked.status, asked.headers.get('upload-offset')]).toEqual([200, '3']);
    expect(await statusOf(upload)).toBe('asset_created');
    expect(await sourceOf(upload)).toBe(hashOf(file));
  });

  it('completes a file whose server is killed while it completes it', async () => {
    const upload = await newUpload();
    const file = Buffer.alloc(PART_BYTES + 1000, 'vwxyzab');
    const send = (node: number, start: number, end: number) =>
      sendBytes(putUrl(node, upload), file.subarray(start, end), rangeOf(start, end, file.length));
    expect((await send(0, 0, PART_BYTES)).status).toBe(308);
    // The last part is stored, and shorter than others may be.
    proxy.stalls = /^POST .*uploadId=/;
    const cut = orUnknown(send(0, PART_BYTES, file.length));
    await until('it completes the file', () => proxy.stalled > 0);
    await nodes[0]!.killAndRestart();
    proxy.stalls = undefined;
    expect(await cut).toBeUndefined();
    await until('the lease has ended', async () => (await send(1, PART_BYTES, file.length)).status === 200);
    expect(await sourceOf(upload)).toBe(hashOf(file));
    expect(proxy.violations).toEqual([]);
  });

  it('merges the rests of many small requests', async () => {
    const upload = await newUpload();
    const file = Buffer.alloc(24, 'opqrstu');
    for (let at = 0; at < file.length - 1; at += 1)
      expect((await sendBytes(putUrl(at % 2, upload), file.subarray(at, at + 1), rangeOf(at, at + 1, 24))).status).toBe(
        308,
      );
    const { tails } = await database.queryable
      .selectFrom('upload_transfer')
      .select('tails')
      .where('upload_id', '=', upload.id)
      .executeTakeFirstOrThrow();
    expect(tails.length).toBeLessThan(14);
    expect((await sendBytes(putUrl(2, upload), file.subarray(23), rangeOf(23, 24, 24))).status).toBe(200);
    expect(await sourceOf(upload)).toBe(hashOf(file));
    expect(await restOf(upload)).toEqual([]);
  });

  it('receives another file from its beginning', async () => {
    const upload = await newUpload();
    const old = Buffer.alloc(PART_BYTES + MIB, 'old');
    await sendBytes(putUrl(0, upload), old, rangeOf(0, old.length, old.length + 1));
    const file = Buffer.alloc(PART_BYTES, 'new');
    expect((await sendBytes(putUrl(1, upload), file)).status).toBe(200);
    expect(await sourceOf(upload)).toBe(hashOf(file));
    expect(await restOf(upload)).toEqual([]);
  });

  it('ends early playback at the server that an upload leaves, and goes on there without it', async () => {
    const options = {
      ...{ DATABASE_URL: url, BLOBS: 's3://uploads/kinora', S3_ENDPOINT: proxy.url },
      S3_ACCESS_KEY_ID: swiftCredentials.accessKeyId,
      S3_SECRET_ACCESS_KEY: swiftCredentials.secretAccessKey,
    };
    const server = await boot({ options });
    try {
      const { create, read, untilPlayable, get } = earlyUploads(() => server);
      const video = await readFile(await fixture('long-index-first.mp4'));
      // More than a part of a server.
      const padding = Buffer.alloc(20 * MIB);
      padding.writeUInt32BE(padding.length);
      padding.write('free', 4);
      const file = Buffer.concat([video, padding]);
      const { id, url: address } = await create();
      const sent = Math.floor(video.length * 0.6);
      expect((await sendChunk(address!, file, 0, sent)).status).toBe(308);
      const playbackId = await untilPlayable(id);
      const upload = (await findUploadById(database.queryable, id))!;
      const moved = 17 * MIB;
      const response = await sendChunk(putUrl(1, upload), file, sent, moved);
      expect([response.status, rangeEnd(response)]).toEqual([308, moved]);
      await until('it does not play', async () => (await read(id)).early_playback_ids === undefined);
      await until('its playlist is gone', async () => (await get(`${playbackId}.m3u8`)).status === 404);
      expect((await sendChunk(address!, file, moved, file.length)).status).toBe(200);
      const asset = await settled(server, (await read(id)).asset_id!);
      expect(asset.status).toBe('ready');
      const reason = 'the beginning of the file was received by another server, or before a restart';
      expect(await earlyPlaybackOf(server, asset.id)).toEqual({ status: 'ended', reason });
      expect(await sourceOf(upload)).toBe(hashOf(file));
    } finally {
      await server.stop();
    }
  });
});
