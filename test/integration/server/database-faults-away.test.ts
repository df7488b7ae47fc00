import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { notReady, startApiLoad } from '../../support/servers/api-load.js';
import { startCutProxy } from '../../support/servers/cut-proxy.js';
import { freePort } from '../../support/servers/free-port.js';
import type { Origin } from '../../support/servers/origin.js';
import { hasPostgres, startPostgres, type TestPostgres } from '../../support/servers/postgres.js';
import { cleanUpServers, makeDataDir, startServer } from '../../support/servers/server-process.js';
import { serveFiles } from '../../support/wire/create-asset.js';

/** How long an open connection is not answered. */
const SILENCE_MS = 60_000;
/** A request waits for at most 15 s for a connection and 20 s for its statement. */
const REQUEST_LIMIT_MS = 40_000;

let origin: Origin;
let source: string;

beforeAll(async () => {
  origin = await serveFiles([await fixture('h264-aac.mp4')]);
  source = `${origin.url}/0`;
});
afterAll(async () => {
  await cleanUpServers();
  await origin?.stop();
});

describe.skipIf(!hasPostgres())('PostgreSQL', () => {
  let postgres: TestPostgres;
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(() => postgres?.stop());

  it('that ends and starts again: requests get 503 meanwhile, and nothing is lost', async () => {
    const options = { DATABASE_URL: await postgres.createDatabase('restarts') };
    const server = await startServer({ dataDir: makeDataDir(), options });
    const load = startApiLoad(server, source);
    await load.works();
    for (let round = 0; round < 3; round++) {
      await postgres.halt();
      await load.refused();
      expect(await notReady(server)).toBe('database');
      await postgres.resume();
      await load.works();
    }
    await load.check();
    expect(await server.stop()).toBe(0);
  });

  it('that is silent for a minute: requests get 503 meanwhile, and nothing is lost', async () => {
    const url = new URL(await postgres.createDatabase('silence'));
    const network = await startCutProxy(Number(url.port));
    url.port = new URL(network.url).port;
    const server = await startServer({ dataDir: makeDataDir(), options: { DATABASE_URL: url.href } });
    const load = startApiLoad(server, source);
    await load.works();
    network.freeze();
    const end = performance.now() + SILENCE_MS;
    const failed = new Set<string | undefined>();
    while (performance.now() < end) {
      failed.add(await notReady(server));
      await pause(1000);
    }
    expect(load.slowestMs()).toBeLessThan(REQUEST_LIMIT_MS);
    expect([...failed]).toEqual(['database']);
    network.restore();
    await load.works();
    await load.check();
    expect(await server.stop()).toBe(0);
    await network.stop();
  });
});

describe('the embedded database', () => {
  it('whose server is killed and starts again loses nothing', async () => {
    const dataDir = makeDataDir();
    const options = { PORT: String(await freePort()) };
    let server = await startServer({ dataDir, options });
    const load = startApiLoad(server, source);
    await load.works();
    for (let round = 0; round < 3; round++) {
      await server.kill();
      await load.refused();
      server = await startServer({ dataDir, options });
      await load.works();
    }
    await load.check();
    expect(await server.stop()).toBe(0);
  });
});
