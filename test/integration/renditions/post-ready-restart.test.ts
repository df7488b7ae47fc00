import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { readFrameCounters } from '../../support/media/measure.js';
import { oneAfterAnother, scenes, writeScenes } from '../../support/media/scenes.js';
import {
  cleanUpServers,
  filesBelow,
  makeDataDir,
  type ServerProcess,
  startServer,
  until,
} from '../../support/servers/server-process.js';
import { type SlowOrigin, startSlowOrigin } from '../../support/servers/slow-origin.js';
import { api, createAsset, getAsset, settled, type WireAsset } from '../../support/wire/create-asset.js';
import { eventTypes } from '../../support/wire/events.js';

let origin: SlowOrigin;
let server: ServerProcess;
let video: string;
const sources: Record<'master' | 'shots', WireAsset> = {} as never;
const dataDir = makeDataDir();
const start = async () => {
  server = await startServer({ dataDir, options: { LOG_LEVEL: 'debug', MEDIA_PROCESSES: '1' } });
};
beforeAll(async () => {
  origin = await startSlowOrigin();
  await start();
  // Longer than what is read at a time.
  video = writeScenes(oneAfterAnother(scenes.bars(50), scenes.ramp(40), scenes.bars(60)));
  for (const [name, path] of [
    ['master', await fixture('long.mp4')],
    ['shots', video],
  ] as const) {
    const { id } = await createAsset(server, { inputs: [{ url: origin.add(`${name}.mp4`, await readFile(path)) }] });
    sources[name] = await settled(server, id);
  }
});
afterAll(async () => {
  await cleanUpServers();
  await origin?.stop();
  await rm(video, { force: true });
});

/** A clip of it, whose master has to be encoded. */
const newClip = async (): Promise<WireAsset> => {
  const input = { url: `mux://assets/${sources.master.id}`, start_time: 1 };
  const { id } = await createAsset(server, { inputs: [input], master_access: 'temporary' });
  return settled(server, id);
};
const filesOf = (assetId: string) => filesBelow(dataDir).filter((name) => name.includes(assetId));
const isMakingMaster = (id: string) => () => filesOf(id).some((name) => name.includes('~masters~'));
const shotsPath = (id: string) => `/video/v1/assets/${id}/shots`;
const shotsOf = async (id: string) =>
  ((await (await api(server, 'GET', shotsPath(id))).json()) as { data: { status: string; shots_manifest_url: string } })
    .data;
const partsRead = (id: string) =>
  server.log().flatMap((line) => (line.asset_id === id && line.msg === 'shot detection part done' ? [line.part] : []));
const newShots = async (): Promise<WireAsset> => {
  const { id } = await createAsset(server, {
    inputs: [{ url: `mux://assets/${sources.shots.id}` }],
    generate_shots: true,
  });
  return settled(server, id);
};

describe('a server killed in the middle', () => {
  it('of a master makes it after the restart', async () => {
    const { id } = await newClip();
    await until('master progress', isMakingMaster(id));
    await server.kill();
    await start();
    await until('a master', async () => (await getAsset(server, id)).master);
    await until(
      'the master',
      async () => ((await getAsset(server, id)).master as { status: string }).status === 'ready',
    );
    const { master } = await getAsset(server, id);
    const response = await fetch((master as { url: string }).url.replace(/^http:\/\/[^/]+/, server.url));
    expect(response.status).toBe(200);
    const counters = readFrameCounters([new Uint8Array(await response.arrayBuffer())]).map(({ counter }) => counter);
    expect(counters).toEqual(Array.from({ length: 570 }, (_, at) => at + 30));
    expect(await eventTypes(server, id)).toEqual(['created', 'ready', 'master.preparing', 'master.ready']);
    await until('only the file is left', () => filesOf(id).filter((name) => /masters/.test(name)).length === 1);
  });

  it('of the search for shots goes on with the part that it had not read', async () => {
    const { id } = await newShots();
    await until('a part is read', () => filesOf(id).some((name) => name.endsWith('/0.json')));
    await server.kill();
    await start();
    await until('shots', async () => (await shotsOf(id)).status === 'completed');
    expect(partsRead(id)).not.toContain(0);
    const url = (await shotsOf(id)).shots_manifest_url.replace(/^http:\/\/[^/]+/, server.url);
    const { shots } = (await (await fetch(url)).json()) as { shots: { start_time: number }[] };
    expect(shots.map(({ start_time }) => start_time)).toEqual([0, 50, 90]);
    expect(await eventTypes(server, id)).toEqual(['created', 'ready', 'shots.created', 'shots.ready']);
    await until('what was read is removed', () => !filesOf(id).some((name) => name.includes('/shots/')));
  });
});

describe('work that is given up stops and leaves nothing', () => {
  const goneFor = async (what: string, files: () => string[]) => {
    await until(what, () => files().length === 0);
    // Nor does anything that was still running bring something back.
    await delay(500);
    expect(files()).toEqual([]);
  };

  it('of a master, with its access', async () => {
    const { id } = await newClip();
    await until('master progress', isMakingMaster(id));
    const none = { master_access: 'none' };
    expect((await api(server, 'PUT', `/video/v1/assets/${id}/master-access`, none)).status).toBe(200);
    await goneFor('the files of the master', () => filesOf(id).filter((name) => name.includes('masters')));
    expect(await eventTypes(server, id)).toEqual(['created', 'ready', 'master.preparing', 'master.deleted']);
  });

  it('of a master, with its asset', async () => {
    const { id } = await newClip();
    await until('master progress', isMakingMaster(id));
    expect((await api(server, 'DELETE', `/video/v1/assets/${id}`)).status).toBe(204);
    await goneFor('the files of the asset', () => filesOf(id));
    expect(await eventTypes(server, id)).toEqual(['created', 'ready', 'master.preparing', 'deleted']);
  });

  it('of the search for shots', async () => {
    const { id } = await newShots();
    await until('a part is read', () => filesOf(id).some((name) => name.endsWith('/0.json')));
    expect((await api(server, 'DELETE', shotsPath(id))).status).toBe(204);
    await goneFor('what was read', () => filesOf(id).filter((name) => name.includes('/shots/')));
    expect((await shotsOf(id)).status).toBe('deleted');
    expect(await eventTypes(server, id)).toEqual(['created', 'ready', 'shots.created', 'shots.deleted']);
  });

  it('of the search for shots, with its asset', async () => {
    const { id } = await newShots();
    await until('a part is read', () => filesOf(id).some((name) => name.endsWith('/0.json')));
    expect((await api(server, 'DELETE', `/video/v1/assets/${id}`)).status).toBe(204);
    await goneFor('the files of the asset', () => filesOf(id));
  });
});

it('what a deleted asset had made for downloading goes, though a clip needs its source', async () => {
  const { id } = await createAsset(server, {
    inputs: [{ url: `${origin.url}/master.mp4` }],
    master_access: 'temporary',
  });
  await settled(server, id);
  await until('its master', async () => ((await getAsset(server, id)).master as { url?: string }).url);
  const clip = await createAsset(server, { inputs: [{ url: `mux://assets/${id}`, start_time: 2 }] });
  expect((await api(server, 'DELETE', `/video/v1/assets/${id}`)).status).toBe(204);
  const blobs = () => filesBelow(join(dataDir, 'blobs', 'assets', id));
  await until('its master is removed', () => !blobs().some((name) => name.startsWith('masters/')));
  expect(blobs()).toContain('source');
  expect((await settled(server, clip.id)).status).toBe('ready');
});
