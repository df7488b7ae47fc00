import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { notReady, startApiLoad } from '../../support/servers/api-load.js';
import { fillDataDir } from '../../support/servers/database.js';
import type { Origin } from '../../support/servers/origin.js';
import { hasPostgres, startPostgres } from '../../support/servers/postgres.js';
import { cleanUpServers, makeDataDir, startServer, until } from '../../support/servers/server-process.js';
import { mountSmallDisk } from '../../support/servers/small-disk.js';
import { serveFiles } from '../../support/wire/create-asset.js';

const FILLS = ['fillSpace', 'fillInodes'] as const;
const disk = mountSmallDisk({ mebibytes: 320, inodes: 4000 });
let origin: Origin;

beforeAll(async () => {
  origin = await serveFiles([await fixture('h264-aac.mp4')]);
});
afterEach(() => disk?.empty());
afterAll(async () => {
  await cleanUpServers();
  await origin?.stop();
  disk?.unmount();
});

describe.runIf(disk)('the embedded database', () => {
  it.each(FILLS)('%s: refuses while the disk is full, and goes on once it is not', async (fill) => {
    const dataDir = join(disk!.dir, fill);
    await fillDataDir(dataDir);
    const server = await startServer({ dataDir });
    const load = startApiLoad(server, `${origin.url}/0`);
    await load.works();
    for (let round = 0; round < 3; round++) {
      // A server removes files of jobs that end meanwhile.
      await load.refused(disk![fill]);
      const isNotReady = async () => {
        disk![fill]();
        return /database|storage/.test((await notReady(server)) ?? '');
      };
      await until('it is not ready', isNotReady);
      disk!.empty();
      await load.works();
    }
    await load.check();
    expect(await server.stop()).toBe(0);
  });
});

describe.runIf(disk && hasPostgres())('PostgreSQL', () => {
  it.each(FILLS)('%s: its writes are refused while its disk is full, and go on once it is not', async (fill) => {
    const postgres = await startPostgres(disk!.dir);
    try {
      const options = { DATABASE_URL: await postgres.createDatabase('faults') };
      const server = await startServer({ dataDir: makeDataDir(), options });
      const load = startApiLoad(server, `${origin.url}/0`);
      await load.works();
      for (let round = 0; round < 3; round++) {
        await load.refused(disk![fill]);
        await until('the check of the database fails', async () => (await notReady(server)) === 'database');
        disk!.empty();
        // It ends if it cannot write its log.
        await postgres.resume().catch(() => undefined);
        await load.works();
      }
      await load.check();
      expect(await server.stop()).toBe(0);
    } finally {
      await postgres.stop();
    }
  });
});
