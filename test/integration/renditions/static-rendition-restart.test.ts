import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { readFrameCounters } from '../../support/media/measure.js';
import { fetchBytes } from '../../support/players/play.js';
import type { Origin } from '../../support/servers/origin.js';
import {
  cleanUpServers,
  filesBelow,
  makeDataDir,
  type ServerProcess,
  startServer,
  until,
} from '../../support/servers/server-process.js';
import { api, createAsset, getAsset, serveFiles } from '../../support/wire/create-asset.js';
import { eventsOf, filesOf, withFiles } from '../../support/wire/static-renditions.js';

const dataDir = makeDataDir();
let server: ServerProcess;
let origin: Origin;
const start = async () => {
  // So small a cache that no segment outlives the next ones, whatever asks for them.
  server = await startServer({ dataDir, options: { LOG_LEVEL: 'debug', CACHE_SIZE: '1MiB' } });
};
afterAll(async () => {
  await cleanUpServers();
  await origin?.stop();
});

test('a server killed in the middle of a file goes on after the parts that it had', async () => {
  origin = await serveFiles([await fixture('longer.mp4')]);
  await start();
  const created = await createAsset(server, {
    inputs: [{ url: `${origin.url}/0` }],
    playback_policies: ['public'],
    static_renditions: [{ resolution: 'highest' }],
  });
  const stored = join(dataDir, 'blobs', 'assets', created.id, 'renditions');
  const parts = () => filesBelow(stored).filter((path) => path.endsWith('.index'));
  await until('a part is stored', () => parts().length > 0, 120_000);
  await server.kill();
  const kept = parts();
  expect(kept.length).toBeGreaterThan(0);
  const before = await Promise.all(kept.map((path) => readFile(join(stored, path.replace('.index', '.samples')))));
  await start();
  // What becomes of the cache does not matter to what is stored.
  const asset = await withFiles(server, created.id, 240_000);
  const [file] = filesOf(asset);
  expect(file).toMatchObject({ status: 'ready', name: 'highest.mp4' });
  const bytes = await fetchBytes(`${server.url}/${asset.playback_ids![0]!.id}/highest.mp4`);
  expect(bytes.length).toBe(Number(file!.filesize));
  // libx264 never makes the same bytes twice, so that parts that are in the file were not made
  // again.
  for (const samples of before) expect(bytes.includes(samples)).toBe(true);
  const frames = readFrameCounters([bytes]);
  expect(frames.length).toBe(Math.round(asset.duration! * 30));
  for (const [at, { counter }] of frames.entries()) expect(counter).toBe(at);
  await until('the parts are gone', () => parts().length === 0);
  const types = (await eventsOf(server, asset.id)).map(({ type }) => type);
  expect(types).toEqual(['created', 'static_rendition.created', 'ready', 'static_rendition.ready']);

  // Deleted in the middle of the next file.
  const path = `/video/v1/assets/${asset.id}`;
  await api(server, 'POST', `${path}/static-renditions`, { resolution: 'audio-only' });
  expect((await api(server, 'DELETE', path)).status).toBe(204);
  await until('nothing is left of it', () => filesBelow(join(dataDir, 'blobs')).length === 0);
  expect((await getAsset(server, asset.id)) as unknown).toBeUndefined();
});
