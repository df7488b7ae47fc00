import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { playAll } from '../../support/players/play.js';
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
import { createAsset, getAsset, settled, type WireAsset } from '../../support/wire/create-asset.js';

const MIB = 2 ** 20;
const SIZE = 8 * MIB;

let origin: SlowOrigin;
let server: ServerProcess;
const dataDir = makeDataDir();
const start = async () => {
  server = await startServer({ dataDir, options: { LOG_LEVEL: 'debug' } });
};
beforeAll(async () => {
  origin = await startSlowOrigin();
  await start();
});
afterAll(async () => {
  await cleanUpServers();
  await origin?.stop();
});

/** Kills the server, sees that everything of it ends, and starts it again. */
const killAndRestart = async (): Promise<void> => {
  await server.kill();
  await until('the media processes end with their server', () => processesNaming(dataDir).length === 0);
  await start();
};

const create = (url: string): Promise<WireAsset> =>
  createAsset(server, { inputs: [{ url }], playback_policies: ['public'] });

const saw = (assetId: string, message: string): Promise<void> =>
  until(`"${message}" in the log`, () =>
    server.log().some((line) => line.asset_id === assetId && line.msg === message),
  );

/** The `Range` of the second request for a file. */
const resumedFrom = async (name: string): Promise<string> => {
  await until('a second request', () => origin.requestsOf(name).length > 1);
  return origin.requestsOf(name)[1]?.range ?? '';
};

/** Ready, with every fact once and nothing left over. */
const expectReady = async (id: string): Promise<WireAsset> => {
  const asset = await settled(server, id);
  expect(asset).toMatchObject({ status: 'ready', progress: { state: 'completed', progress: 100 } });
  expect(asset.tracks?.map(({ type }) => type)).toEqual(['video', 'audio']);
  expect(asset.playback_ids).toHaveLength(1);
  // Temporary files are removed beside the steps that follow.
  for (const folder of [join(dataDir, 'cache', 'tmp'), join(dataDir, 'blobs', '.partial')])
    await expect.poll(() => filesBelow(folder)).toEqual([]);
  return asset;
};

describe('a server killed in the middle of an ingest', () => {
  it('goes on with the download where it was', async () => {
    const bytes = await paddedMp4(await fixture('h264-aac.mp4'), SIZE);
    const asset = await create(origin.add('download.mp4', bytes, SIZE * 0.3));
    const partial = join(dataDir, 'blobs', '.partial', `assets~${asset.id}~source`);
    const stored = async () => (await readFile(partial).catch(() => Buffer.alloc(0))).length;
    await until('some of the file is stored', async () => (await stored()) >= MIB);
    await killAndRestart();
    const storedBytes = Number(/\d+/.exec(await resumedFrom('download.mp4'))?.[0]);
    expect(storedBytes).toBeGreaterThanOrEqual(MIB);
    expect(await getAsset(server, asset.id)).toMatchObject({
      status: 'preparing',
      progress: { state: 'ingesting', progress: 0 },
    });
    origin.release();
    await expectReady(asset.id);
    expect(origin.requestsOf('download.mp4')).toEqual([
      { range: undefined, ifRange: undefined },
      { range: `bytes=${storedBytes}-`, ifRange: '"download.mp4"' },
    ]);
    const source = await readFile(join(dataDir, 'blobs', 'assets', asset.id, 'source'));
    expect(source.equals(bytes)).toBe(true);
  });

  const steps: Record<string, [fixture: Parameters<typeof fixture>[0], message: string]> = {
    'while it probes': ['h264-mp3.mkv', 'source stored'],
    'while it indexes': ['h264-aac.ts', 'source probed'],
    'while it warms': ['h264-mp3.avi', 'asset planned'],
    'right after it is ready': ['h264-mp3.mkv', 'asset ready'],
  };
  const played: Record<string, Record<string, string>> = {};

  for (const [when, [name, message]] of Object.entries(steps)) {
    it(`takes the work up again: ${when}`, async () => {
      const url = origin.add(`${when}/${name}`.replaceAll(' ', '-'), await readFile(await fixture(name)));
      const asset = await create(url);
      await saw(asset.id, message);
      await killAndRestart();
      const { playback_ids: ids } = await expectReady(asset.id);
      // The file was there already: nothing is downloaded twice.
      expect(origin.requests.filter((request) => url.endsWith(request.url))).toHaveLength(1);
      const digests = await playAll(server.url, ids![0]!.id);
      expect(Object.keys(digests).length).toBeGreaterThan(3);
      played[name] ??= digests;
      expect(digests).toEqual(played[name]);
    });
  }

  it('takes the work up again: while it makes a mezzanine', async () => {
    const asset = await create(origin.add('mezzanine.mp4', await readFile(await fixture('one-key-frame.mp4'))));
    await until('some percent', async () => {
      const { progress } = await getAsset(server, asset.id);
      return progress.state === 'transcoding' && progress.progress > 0;
    });
    await killAndRestart();
    const { playback_ids: ids } = await expectReady(asset.id);
    const before = await playAll(server.url, ids![0]!.id);
    await killAndRestart();
    expect(await playAll(server.url, ids![0]!.id)).toEqual(before);
  });
});
