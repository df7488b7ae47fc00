import { mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { mediaPlaylists, segmentsOf } from '../../support/players/play.js';
import { fillDataDir } from '../../support/servers/database.js';
import type { Origin } from '../../support/servers/origin.js';
import { cleanUpServers, makeDataDir, type ServerProcess, startServer } from '../../support/servers/server-process.js';
import { mountSmallDisk } from '../../support/servers/small-disk.js';
import { api, createAsset, serveFiles, settled } from '../../support/wire/create-asset.js';

const IMAGES = [
  'thumbnail.jpg',
  'thumbnail.png',
  'thumbnail.webp',
  'animated.gif?end=1',
  'animated.webp?end=1',
  'storyboard.jpg',
  'storyboard.png',
  'storyboard.webp',
];
const FILLS = ['fillSpace', 'fillInodes'] as const;
const CHUNK_BYTES = 64 * 1024;
const MAX_ATTEMPTS = 20;
const disk = mountSmallDisk({ mebibytes: 64, inodes: 500 });

/** The database has a disk of its own, so that only the files are the reason of a refusal. */
describe.runIf(disk)('a full disk of blobs and cache', () => {
  let origin: Origin | undefined;
  let server: ServerProcess;
  let file: Uint8Array;
  let urls: string[];

  beforeAll(async () => {
    const dataDir = makeDataDir();
    await fillDataDir(dataDir);
    for (const name of ['blobs', 'cache']) {
      mkdirSync(join(disk!.dir, name));
      rmSync(join(dataDir, name), { recursive: true, force: true });
      symlinkSync(join(disk!.dir, name), join(dataDir, name));
    }
    server = await startServer({ dataDir });
    const path = await fixture('h264-aac.mp4');
    file = await readFile(path);
    origin = await serveFiles([path]);
    const { id } = await createAsset(server, { inputs: [{ url: `${origin.url}/0` }], playback_policies: ['public'] });
    const playbackId = (await settled(server, id)).playback_ids![0]!.id;
    const files = await Promise.all((await mediaPlaylists(server.url, playbackId)).map(segmentsOf));
    // None is made ahead after the last segment of a rendition.
    const segments = files.flatMap((of) => [of[0]!, of.at(-1)!]);
    urls = [...IMAGES.map((image) => `${server.url}/${playbackId}/${image}`), ...segments];
  });
  afterEach(() => disk!.empty());
  afterAll(async () => {
    await cleanUpServers();
    await origin?.stop();
    disk?.unmount();
  });

  const emptyCache = (): void => {
    const cache = join(disk!.dir, 'cache');
    // Media processes write to `tmp`.
    const names = readdirSync(cache).filter((name) => name !== 'tmp');
    for (const name of names) rmSync(join(cache, name), { recursive: true, force: true });
  };
  const responseOf = async (response: Response): Promise<unknown[]> => {
    const { status, headers } = response;
    return [status, headers.get('retry-after'), headers.get('cache-control'), JSON.parse(await response.text())];
  };
  /**
   * The first answer that is no success: files that the server removes at the same moment leave
   * room for others.
   */
  const refusal = async (ask: () => Promise<Response>): Promise<Response> => {
    for (let attempt = 1; ; attempt++) {
      const response = await ask();
      if (response.status !== 200 || attempt === MAX_ATTEMPTS) return response;
      await response.arrayBuffer();
      disk!.empty();
    }
  };
  const unavailable = { code: 14, message: 'Service temporarily unavailable' };

  it.each(FILLS)('%s: images and segments are refused while they cannot be made', async (fill) => {
    const advised = (): number =>
      server.log().filter(({ msg }) => String(msg).startsWith('no space for a file: delete files from')).length;
    const before = advised();
    for (const url of urls) {
      const refused = await refusal(async () => {
        emptyCache();
        disk![fill]();
        return fetch(url);
      });
      expect([url, ...(await responseOf(refused))]).toEqual([url, 503, '2', 'no-cache', unavailable]);
      disk!.empty();
      const response = await fetch(url);
      expect([url, response.status, (await response.arrayBuffer()).byteLength > 0]).toEqual([url, 200, true]);
    }
    expect(advised() - before).toBeGreaterThanOrEqual(urls.length);
  });

  it.each(FILLS)('%s: an upload is refused while it cannot be stored, and continues', async (fill) => {
    let url = '';
    let id = '';
    const put = (start: number, end: number) =>
      fetch(url, {
        method: 'PUT',
        headers: { 'content-range': `bytes ${start}-${end - 1}/${file.length}` },
        body: new Uint8Array(file.subarray(start, end)),
      });
    const refused = await refusal(async () => {
      const created = await api(server, 'POST', '/video/v1/uploads', {});
      ({ url, id } = ((await created.json()) as { data: { url: string; id: string } }).data);
      expect((await put(0, CHUNK_BYTES)).status).toBe(308);
      disk![fill]();
      return put(CHUNK_BYTES, file.length);
    });
    expect([refused.status, refused.headers.get('retry-after'), await refused.text()]).toEqual([
      503,
      '2',
      expect.any(String),
    ]);
    disk!.empty();
    // What lacks may be only the name of the complete file.
    const state = await fetch(url, { method: 'PUT', headers: { 'content-range': `bytes */${file.length}` } });
    const received = Number(/-(\d+)$/.exec(state.headers.get('range') ?? '')?.[1]);
    const last = state.status === 308 ? await put(received + 1, file.length) : state;
    expect([last.status, await last.text()]).toEqual([200, '']);
    const upload = (await (await api(server, 'GET', `/video/v1/uploads/${id}`)).json()) as {
      data: { asset_id: string };
    };
    expect((await settled(server, upload.data.asset_id)).status).toBe('ready');
  });
});
