/** `kill -9` while an AV1 ladder is prepared: it goes on, and playlists never have a part of it. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { fetchBytes, isVideoPlaylist, mediaPlaylists, segmentsOf } from '../../support/players/play.js';
import type { Origin } from '../../support/servers/origin.js';
import {
  cleanUpServers,
  filesBelow,
  makeDataDir,
  type ServerProcess,
  startServer,
  until,
} from '../../support/servers/server-process.js';
import { createAsset, serveFiles, settled } from '../../support/wire/create-asset.js';

const dataDir = makeDataDir();
const start = () => startServer({ dataDir, options: { AV1_AFTER: '0.25', MEDIA_PROCESSES: '1' } });
let origin: Origin;
let server: ServerProcess;
beforeAll(async () => {
  origin = await serveFiles([await fixture('h264-640x400.mp4')]);
  server = await start();
});
afterAll(async () => {
  await origin?.stop();
  await cleanUpServers();
});

it('a ladder that is being prepared is listed whole after kill -9', async () => {
  const inputs = [{ url: `${origin.url}/0` }];
  const created = await createAsset(server, { inputs, playback_policies: ['public'], video_quality: 'plus' });
  const { id, playback_ids } = await settled(server, created.id);
  const listed = async (): Promise<Set<string>> => {
    const text = await (await fetch(`${server.url}/${playback_ids![0]!.id}.m3u8`)).text();
    return new Set(Array.from(text.matchAll(/\/((?:av1-)?\d+p)\/playlist/g), ([, name]) => name!));
  };
  const av1Listed = async (): Promise<number> => [...(await listed())].filter((name) => name.startsWith('av1-')).length;
  const rungs = (await listed()).size;
  expect([rungs > 1, await av1Listed()]).toEqual([true, 0]);
  const playlist = (await mediaPlaylists(server.url, playback_ids![0]!.id)).find(isVideoPlaylist);
  const watched = (await segmentsOf(playlist!)).filter((url) => url.includes('.m4s'));
  await Promise.all(watched.map(fetchBytes));

  // The counts are stored when a server stops, and looked at when one starts.
  await server.stop();
  server = await start();
  const folder = join(dataDir, 'cache', id.slice(0, 2), id);
  const prepared = (): string[] => filesBelow(folder).filter((path) => /\/av1-[^/]*\/\d+\.m4s~/.test(`/${path}`));
  await until('some are prepared', () => prepared().length > 0);
  await server.kill();
  const before = prepared().map((path) => [path, statSync(join(folder, path)).ino]);
  expect(server.logText()).not.toContain('AV1 listed');

  server = await start();
  const seen = new Set<number>();
  await until('it is listed', async () => {
    seen.add(await av1Listed());
    return seen.size > 1 || server.logText().includes('AV1 not listed');
  });
  expect([...seen]).toEqual([0, rungs]);
  const after = new Map(prepared().map((path) => [path, statSync(join(folder, path)).ino]));
  for (const [path, inode] of before) expect([path, after.get(path as string)]).toEqual([path, inode]);
  expect(after.size).toBeGreaterThan(before.length);
});
