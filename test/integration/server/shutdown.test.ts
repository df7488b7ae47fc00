import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '#kinora/db/open-database.js';
import { quietLogger } from '../../support/logger.js';
import { fixture } from '../../support/media/fixtures.js';
import { mediaPlaylists, playAll, segmentsOf } from '../../support/players/play.js';
import {
  cleanUpServers,
  filesBelow,
  makeDataDir,
  processesNaming,
  type ServerProcess,
  startServer,
  until,
} from '../../support/servers/server-process.js';
import { paddedMp4, type SlowOrigin, startSlowOrigin } from '../../support/servers/slow-origin.js';
import { createAsset, getAsset, settled } from '../../support/wire/create-asset.js';

const MIB = 2 ** 20;

let origin: SlowOrigin;
let server: ServerProcess;
const dataDir = makeDataDir();
const start = async () => {
  server = await startServer({ dataDir, options: { SHUTDOWN_LIMIT: '20s', MEDIA_PROCESSES: '2' } });
};
beforeAll(async () => {
  origin = await startSlowOrigin();
  await start();
});
afterAll(async () => {
  await cleanUpServers();
  await origin?.stop();
});

const create = async (name: string, bytes: Buffer, holdAtBytes?: number) =>
  createAsset(server, { inputs: [{ url: origin.add(name, bytes, holdAtBytes) }], playback_policies: ['public'] });

/** Stops the server; everything of it is gone afterwards and nothing went wrong on the way. */
const stopCleanly = async (): Promise<void> => {
  expect(await server.stop()).toBe(0);
  expect(processesNaming(dataDir)).toEqual([]);
  expect(server.log().filter(({ level }) => level === 'error')).toEqual([]);
  expect(server.log().at(-1)).toMatchObject({ msg: 'server stopped' });
};

/** What the database of the stopped server says about the ingest job of an asset. */
const findJob = async (queue: 'ingest' | 'transcode', assetId: string) => {
  const database = await openDatabase({ dataDir, logger: quietLogger });
  try {
    return await database.queryable
      .selectFrom('job')
      .select(['state', 'attempt', 'worker'])
      .where('queue', '=', queue)
      .where('key', '=', assetId)
      .executeTakeFirst();
  } finally {
    await database.close();
  }
};

describe('a server that is asked to stop', () => {
  it('hands a download back and goes on with it after the next start', async () => {
    const bytes = await paddedMp4(await fixture('h264-aac.mp4'), 4 * MIB);
    const asset = await create('download.mp4', bytes, 2.5 * MIB);
    const partial = join(dataDir, 'blobs', '.partial', `assets~${asset.id}~source`);
    const flushed = 1.5 * MIB;
    await until(
      'all but the buffer is stored',
      async () => (await readFile(partial).catch(() => '')).length >= flushed,
    );
    await stopCleanly();
    // Nothing that had arrived is lost: the buffer was written too.
    const stored = (await readFile(partial)).length;
    expect(stored).toBeGreaterThanOrEqual(flushed);
    expect(await findJob('ingest', asset.id)).toEqual({ state: 'queued', attempt: 0, worker: null });
    origin.release();
    await start();
    expect(server.log().filter(({ level }) => level === 'warn')).toEqual([]);
    expect(await settled(server, asset.id)).toMatchObject({ status: 'ready' });
    expect(origin.requestsOf('download.mp4').map(({ range }) => range)).toEqual([undefined, `bytes=${stored}-`]);
  });

  it('hands a mezzanine back, answers the segments that are being made and refuses no byte of them', async () => {
    const watched = await create('watched.mp4', await readFile(await fixture('long.mp4')));
    const ids = (await settled(server, watched.id)).playback_ids!;
    const transcoded = await create('transcoded.mp4', await readFile(await fixture('one-key-frame.mp4')));
    await until('some percent', async () => (await getAsset(server, transcoded.id)).progress.progress > 0);
    const playlists = await mediaPlaylists(server.url, ids[0]!.id);
    const last = (await Promise.all(playlists.map(segmentsOf))).map((urls) => urls.at(-1)!);
    const responses = last.map(async (url) => {
      const response = await fetch(url);
      const { length } = await response.arrayBuffer().then((body) => Buffer.from(body));
      return { status: response.status, complete: length === Number(response.headers.get('content-length')) };
    });
    // Long enough for the requests to arrive, too short for the segments to be made.
    await Promise.all([delay(50), fetch(`${server.url}/readyz`)]);
    await stopCleanly();
    for (const response of await Promise.all(responses)) expect(response).toEqual({ status: 200, complete: true });
    expect(await findJob('transcode', transcoded.id)).toEqual({ state: 'queued', attempt: 0, worker: null });
    expect(filesBelow(join(dataDir, 'blobs', '.partial'))).toEqual([]);
    await start();
    const { playback_ids: made, ...rest } = await settled(server, transcoded.id);
    expect(rest).toMatchObject({ status: 'ready' });
    expect(Object.keys(await playAll(server.url, made![0]!.id)).length).toBeGreaterThan(7);
  });

  it('cuts off a request that never ends, within its limit', async () => {
    await stopCleanly();
    server = await startServer({ dataDir, options: { SHUTDOWN_LIMIT: '3s' } });
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    const { id, secret } = server.token;
    const authorization = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
    socket.write(
      `POST /video/v1/assets HTTP/1.1\r\nHost: test\r\nAuthorization: ${authorization}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
    );
    const closed = once(socket, 'close');
    // Answered on another connection afterwards, so the first one has arrived as well.
    await fetch(`${server.url}/readyz`);
    // It would wait for the rest of the body forever.
    expect(await server.stop()).toBe(0);
    await closed;
    expect(server.log().at(-1)).toMatchObject({ msg: 'server stopped' });
  });
});

it('waits for no connection that is idle or brings only half a request', async () => {
  // Half of it would be the time for requests that are under way.
  const patient = await startServer({ dataDir: makeDataDir(), options: { SHUTDOWN_LIMIT: '600s' } });
  const { port } = new URL(patient.url);
  const halves = [
    '',
    'GET /healthz HTTP/1.1\r\nHost: a\r\n',
    `POST /video/v1/assets HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\nAuthorization: Basic ${Buffer.from(`${patient.token.id}:${patient.token.secret}`).toString('base64')}\r\n\r\n{"inputs"`,
  ];
  const sockets = halves.map((text) => {
    const socket = connect(Number(port), '127.0.0.1');
    socket.on('error', () => undefined).write(text);
    return socket;
  });
  await fetch(`${patient.url}/readyz`);
  expect(await patient.stop()).toBe(0);
  for (const socket of sockets) socket.destroy();
  const { elapsed_ms: elapsedMs } = patient.log().at(-1)!;
  expect(elapsedMs).toBeLessThan(60_000);
});

it('exits at once when it is asked twice, and the directory can be used again', async () => {
  await start();
  const bytes = await readFile(await fixture('one-key-frame.mp4'));
  const asset = await create('twice.mp4', bytes);
  await until('some percent', async () => (await getAsset(server, asset.id)).progress.progress > 0);
  server.signal('SIGTERM');
  server.signal('SIGINT');
  // 0 when it had ended in order before it was asked again.
  const status = await server.exited;
  expect([0, 1]).toContain(status);
  expect(server.log().some(({ msg }) => msg === 'server stopped')).toBe(status === 0);
  await until('the media processes end with their server', () => processesNaming(dataDir).length === 0);
  await start();
  expect(await settled(server, asset.id)).toMatchObject({ status: 'ready' });
});

it('is the only one on its data directory', async () => {
  await expect(startServer({ dataDir })).rejects.toThrow(
    `the server ended with status 75: kinora: The data directory ${dataDir} is in use by another Kinora process (process ID ${server.process.pid}).`,
  );
  // The refused one has not disturbed the first.
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
  await stopCleanly();
});
