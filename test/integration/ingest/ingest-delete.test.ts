import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import {
  cleanUpServers,
  filesBelow,
  makeDataDir,
  type ServerProcess,
  startServer,
  until,
} from '../../support/servers/server-process.js';
import { paddedMp4, type SlowOrigin, startSlowOrigin } from '../../support/servers/slow-origin.js';
import { api, createAsset, getAsset } from '../../support/wire/create-asset.js';
import { eventTypes } from '../../support/wire/events.js';

const MIB = 2 ** 20;

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

const filesOf = (assetId: string): string[] =>
  filesBelow(dataDir).filter((name) => name.includes(assetId) || name.includes('cache/tmp/'));

const saw = (assetId: string, message: string) => () =>
  server.log().some((line) => line.asset_id === assetId && line.msg === message);

describe('an asset that is deleted while it is made', () => {
  const moments: Record<string, { bytes: () => Promise<Buffer>; hold?: number; busy: (id: string) => () => unknown }> =
    {
      downloading: {
        bytes: async () => paddedMp4(await fixture('h264-aac.mp4'), 4 * MIB),
        hold: 2.5 * MIB,
        busy: (id) => () => filesOf(id).length > 0,
      },
      transcoding: {
        bytes: async () => readFile(await fixture('one-key-frame.mp4')),
        busy: (id) => async () => (await getAsset(server, id)).progress.progress > 0,
      },
      warming: {
        bytes: async () => readFile(await fixture('h264-mp3.avi')),
        busy: (id) => saw(id, 'asset planned'),
      },
    };
  for (const [moment, { bytes, hold, busy }] of Object.entries(moments)) {
    it(`stops at once and leaves nothing: ${moment}`, async () => {
      const url = origin.add(moment, await bytes(), hold);
      const asset = await createAsset(server, { inputs: [{ url }], playback_policies: ['public'] });
      await until(moment, busy(asset.id));
      expect((await api(server, 'DELETE', `/video/v1/assets/${asset.id}`)).status).toBe(204);
      const playback = `${server.url}/${asset.playback_ids![0]!.id}.m3u8`;
      expect((await fetch(playback)).status).toBe(404);
      await until('nothing is left', () => filesOf(asset.id).length === 0);
      // Nor does anything that was still running bring something back.
      await delay(500);
      expect(filesOf(asset.id)).toEqual([]);
      expect((await eventTypes(server, asset.id)).at(-1)).toBe('deleted');
    });
  }
});
