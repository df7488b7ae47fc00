import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { fetchBytes, mediaPlaylists, segmentsOf } from '../../support/players/play.js';
import {
  cleanUpServers,
  filesBelow,
  makeDataDir,
  type ServerProcess,
  startServer,
  until,
} from '../../support/servers/server-process.js';
import { type SlowOrigin, startSlowOrigin } from '../../support/servers/slow-origin.js';
import { api, createAsset, getAsset, settled } from '../../support/wire/create-asset.js';

const COUNT = 20;

let origin: SlowOrigin;
let server: ServerProcess;
const dataDir = makeDataDir();
beforeAll(async () => {
  origin = await startSlowOrigin();
  server = await startServer({ dataDir });
});
afterAll(async () => {
  await cleanUpServers();
  await origin?.stop();
});

const create = async (name: Parameters<typeof fixture>[0]) => {
  const url = origin.add(name, await readFile(await fixture(name)));
  return createAsset(server, { inputs: [{ url }], playback_policies: ['public'] });
};

const listIds = async (limit: number): Promise<string[]> => {
  const ids: string[] = [];
  for (let page = 1; ; page++) {
    const response = await api(server, 'GET', `/video/v1/assets?limit=${limit}&page=${page}`);
    const { data } = (await response.json()) as { data: { id: string }[] };
    if (data.length === 0) return ids;
    ids.push(...data.map(({ id }) => id));
  }
};

it('makes many assets that are created at once, and lists each of them once', async () => {
  const created = await Promise.all(Array.from({ length: COUNT }, () => create('audio-only.m4a')));
  const whileTheyAreMade = await listIds(7);
  expect(new Set(whileTheyAreMade).size).toBe(COUNT);
  expect(whileTheyAreMade).toHaveLength(COUNT);
  for (const { id } of created) expect((await settled(server, id)).status).toBe('ready');
  expect(await listIds(3)).toEqual(whileTheyAreMade);
});

it('makes a segment once for many viewers, promptly although other work keeps every process busy', async () => {
  const watched = await settled(server, (await create('long.mp4')).id);
  const playlists = await mediaPlaylists(server.url, watched.playback_ids![0]!.id);
  const video = playlists.find((url) => !url.includes('/audio/'))!;
  const url = (await segmentsOf(video)).at(-1)!;
  const slow = await create('one-key-frame.mp4');
  await until('some percent', async () => (await getAsset(server, slow.id)).progress.progress > 0);

  const file = new URL(url).pathname.split('/').at(-1)!;
  const made = () =>
    filesBelow(dataDir).filter(
      (name) => name.includes(watched.id) && name.includes(`/${file}~`) && !name.includes('audio'),
    );
  expect(made()).toEqual([]);
  const responses = await Promise.all(Array.from({ length: 10 }, () => fetchBytes(url)));
  for (const bytes of responses) expect(bytes.equals(responses[0]!)).toBe(true);
  expect(made()).toHaveLength(1);
  // The viewers did not wait for it.
  expect((await getAsset(server, slow.id)).status).toBe('preparing');
  expect((await settled(server, slow.id)).status).toBe('ready');
});
