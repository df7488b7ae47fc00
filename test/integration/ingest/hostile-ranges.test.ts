import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { type Origin, startOrigin } from '../../support/servers/origin.js';
import {
  cleanUpServers,
  makeDataDir,
  type ServerProcess,
  startServer,
  until,
} from '../../support/servers/server-process.js';
import { createAsset, settled, type WireAsset } from '../../support/wire/create-asset.js';

/** Answers a request for the bytes from `start` to `end`, which is inclusive, in a wrong way. */
type WrongResponse = (response: ServerResponse, start: number, end: number) => void;

/** Every download stops here until the test lets it go on. */
const HELD_AT = 300_000;
const ETAG = '"one"';

const dataDir = makeDataDir();
let bytes: Buffer;
/** The segments of the file, from an origin that sends no ranges. */
let reference: string[];
let origin: Origin;
let server: ServerProcess;
const wrong = new Map<string, WrongResponse>();
const held = new Map<string, () => void>();
const stalled: (() => void)[] = [];

const partOf = (start: number, end: number, headers: object = {}) => ({
  etag: ETAG,
  'content-range': `bytes ${start}-${end}/${bytes.length}`,
  'content-length': end - start + 1,
  ...headers,
});
const halfOf = (start: number, end: number): Buffer => bytes.subarray(start, start + Math.ceil((end - start) / 2));

const responses: Readonly<Record<string, WrongResponse>> = {
  'stalls in the middle until the connection is closed': (response, start, end) => {
    response.writeHead(206, partOf(start, end));
    response.write(halfOf(start, end));
    stalled.push(() => response.destroy());
  },
  'closes the connection in the middle': (response, start, end) => {
    response.writeHead(206, partOf(start, end));
    response.write(halfOf(start, end), () => response.destroy());
  },
  'sends less than it announces in Content-Range': (response, start, end) => {
    const half = halfOf(start, end);
    response.writeHead(206, partOf(start, end, { 'content-length': half.length })).end(half);
  },
  'sends more than was asked for': (response, start, end) => {
    const more = Buffer.concat([bytes.subarray(start, end + 1), Buffer.alloc(1000, 7)]);
    response.writeHead(206, partOf(start, end, { 'content-length': more.length })).end(more);
  },
  'sends other bytes, and says so': (response, start, end) => {
    const other = bytes.subarray(start + 1, end + 2);
    const range = `bytes ${start + 1}-${start + other.length}/${bytes.length}`;
    response.writeHead(206, partOf(start, end, { 'content-range': range, 'content-length': other.length })).end(other);
  },
  'names another size': (response, start, end) => {
    const range = `bytes ${start}-${end}/${bytes.length + 1}`;
    response.writeHead(206, partOf(start, end, { 'content-range': range })).end(bytes.subarray(start, end + 1));
  },
  'names no range': (response, start, end) => {
    response.writeHead(206, { etag: ETAG, 'content-length': end - start + 1 }).end(bytes.subarray(start, end + 1));
  },
  'sends the whole file': (response) => {
    response.writeHead(200, { etag: ETAG, 'content-length': bytes.length }).end(bytes);
  },
  'names another version': (response, start, end) => {
    response.writeHead(206, partOf(start, end, { etag: '"two"' })).end(bytes.subarray(start, end + 1));
  },
  'refuses with 416': (response) => {
    response.writeHead(416, { 'content-range': `bytes */${bytes.length}` }).end();
  },
  'fails with 500': (response) => {
    response.writeHead(500).end();
  },
};

const startWrongOrigin = (): Promise<Origin> =>
  startOrigin((request, response) => {
    const name = (request.url ?? '').slice(1);
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
    if (last !== undefined) {
      const [start, end] = [Number(first), Number(last)];
      const respond = wrong.get(name);
      if (respond) return respond(response, start, end);
      response.writeHead(206, partOf(start, end)).end(bytes.subarray(start, end + 1));
      return;
    }
    const ranges = name !== 'plain' && { 'accept-ranges': 'bytes' };
    response.writeHead(200, { etag: ETAG, 'content-length': bytes.length, ...ranges });
    response.write(bytes.subarray(0, HELD_AT));
    const finish = () => void response.end(bytes.subarray(HELD_AT));
    if (name === 'plain') finish();
    else held.set(name, finish);
  });

const create = (name: string): Promise<WireAsset> =>
  createAsset(server, { inputs: [{ url: `${origin.url}/${name}` }], playback_policies: ['public'] });
const get = (path: string): Promise<Response> => fetch(`${server.url}/${path}`);
const playbackIdOf = (asset: WireAsset): string => asset.playback_ids![0]!.id;
const logged = (asset: WireAsset, message: string) =>
  server.log().find(({ asset_id, msg }) => asset_id === asset.id && msg === message);

/** Paths of the segments of the smallest rendition: all are made from the same bytes. */
const segmentsOf = async (asset: WireAsset): Promise<string[]> => {
  const lines = (await (await get(`${playbackIdOf(asset)}.m3u8`)).text()).split('\n');
  const listed = lines.findLast((line) => line.includes('/playlist.m3u8') && !line.startsWith('#'))!;
  const playlist = (await (await get(listed)).text()).split('\n').filter((line) => line.endsWith('.m4s'));
  return playlist.map((line) => `${listed.slice(0, listed.lastIndexOf('/'))}/${line}`);
};
/** Of the body, or the status when it is not 200. */
const digestOf = async (path: string): Promise<string> => {
  const response = await get(path);
  const body = new Uint8Array(await response.arrayBuffer());
  return response.status === 200 ? createHash('sha256').update(body).digest('hex') : String(response.status);
};
const digestsOf = (paths: readonly string[]): Promise<string[]> => Promise.all(paths.map(digestOf));

/** The server may answer from what it read a second ago. */
const untilPlaylist = (asset: WireAsset, status: number): Promise<void> =>
  until(`the playlist answers ${status}`, async () => (await get(`${playbackIdOf(asset)}.m3u8`)).status === status);

/** `choose` picks which segments, or their digests, are compared. */
const settlesAsReference = async (
  asset: WireAsset,
  name: string,
  choose = (segments: readonly string[]): readonly string[] => segments,
): Promise<void> => {
  wrong.delete(name);
  held.get(name)!();
  expect((await settled(server, asset.id)).status).toBe('ready');
  await untilPlaylist(asset, 200);
  const paths = await segmentsOf(asset);
  expect(paths).toHaveLength(reference.length);
  expect(await digestsOf(choose(paths))).toEqual(choose(reference));
};

beforeAll(async () => {
  bytes = await readFile(await fixture('long-index-first.mp4'));
  origin = await startWrongOrigin();
  server = await startServer({ dataDir });
  const plain = await create('plain');
  await settled(server, plain.id);
  reference = await digestsOf(await segmentsOf(plain));
  expect(reference).toHaveLength(7);
});
afterAll(async () => {
  await cleanUpServers();
  await origin?.stop();
});

it.concurrent.each(Object.entries(responses))('an origin that %s while an asset plays', async (title, respond) => {
  const name = `playing-${title.replaceAll(' ', '-')}`;
  const asset = await create(name);
  await untilPlaylist(asset, 200);
  const paths = await segmentsOf(asset);
  wrong.set(name, respond);
  // Nothing of the end was read before.
  const requested = digestsOf(paths.toReversed());
  let isResponded = false;
  void requested.finally(() => {
    isResponded = true;
  });
  await until('it is answered', () => {
    for (const close of stalled.splice(0)) close();
    return isResponded;
  });
  const early = (await requested).reverse();
  for (const [index, digest] of early.entries()) expect([reference[index], '412', '503']).toContain(digest);
  await until('it does not play', () => logged(asset, 'early playback ended') !== undefined);
  await untilPlaylist(asset, 412);
  await settlesAsReference(asset, name);
});

it.concurrent.each(Object.entries(responses))('an origin that %s from the start', async (title, respond) => {
  const name = `start-${title.replaceAll(' ', '-')}`;
  wrong.set(name, respond);
  const asset = await create(name);
  await until('it does not play early', () => {
    for (const close of stalled.splice(0)) close();
    return logged(asset, 'asset does not play early') !== undefined;
  });
  expect(logged(asset, 'asset does not play early')!.reason).toMatch(/^the origin (did not answer|answered) a range/);
  expect((await get(`${playbackIdOf(asset)}.m3u8`)).status).toBe(412);
  // Nothing of it was played. All other segments are made of these bytes too.
  await settlesAsReference(asset, name, (segments) => [segments[0]!, segments.at(-1)!]);
  expect(bytes.equals(await readFile(join(dataDir, 'blobs', 'assets', asset.id, 'source')))).toBe(true);
});

/** In the frames of the last but one segment, and after what the download has brought. */
const lieAbout = (file: Buffer): Buffer => {
  const lie = Buffer.from(file);
  // At several places: some are audio.
  for (const share of [0.8, 0.81, 0.82]) {
    const at = Math.floor(file.length * share);
    for (let k = at; k < at + 100; k += 1) lie[k]! ^= 0xff;
  }
  return lie;
};

it('an origin that sends other bytes for a range than in the whole file', async () => {
  const name = 'lies';
  const lie = lieAbout(bytes);
  wrong.set(name, (response, start, end) => {
    response.writeHead(206, partOf(start, end)).end(lie.subarray(start, end + 1));
  });
  const asset = await create(name);
  await untilPlaylist(asset, 200);
  const early = await digestsOf(await segmentsOf(asset));
  // Otherwise there is nothing wrong that could be kept.
  expect(early.filter((digest, index) => digest.length === 64 && digest !== reference[index])).not.toEqual([]);
  await settlesAsReference(asset, name);
  expect(logged(asset, 'early playback ended')!.reason).toBe(
    'the origin sent other bytes for a range than in the whole file',
  );
});

it('an origin that lies about a range and stops, while the server is killed', async () => {
  const name = 'killed';
  const lie = lieAbout(bytes);
  wrong.set(name, (response, start, end) => {
    response.writeHead(206, partOf(start, end)).end(lie.subarray(start, end + 1));
  });
  const asset = await create(name);
  await untilPlaylist(asset, 200);
  const paths = await segmentsOf(asset);
  const early = await digestsOf(paths);
  expect(early).not.toEqual(reference);
  await server.kill();
  wrong.delete(name);
  server = await startServer({ dataDir });
  await untilPlaylist(asset, 200);
  expect(await digestsOf(paths)).toEqual(reference);
  await settlesAsReference(asset, name);
});
