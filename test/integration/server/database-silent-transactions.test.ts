import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createPool } from '#kinora/db/create-pool.js';
import type { Database } from '#kinora/db/database.js';
import { KyselyDatabase } from '#kinora/db/kysely-database.js';
import { endSilentConnections } from '#kinora/db/silent-connections.js';
import { isUnavailable } from '#kinora/lib/unavailable.js';
import { quietLogger } from '../../support/logger.js';
import { type CutProxy, startCutProxy } from '../../support/servers/cut-proxy.js';
import { hasPostgres, startPostgres, type TestPostgres } from '../../support/servers/postgres.js';

describe.skipIf(!hasPostgres())('a transaction whose connection is silent', () => {
  let postgres: TestPostgres;
  let network: CutProxy;
  let database: Database;

  beforeAll(async () => {
    postgres = await startPostgres();
    const url = new URL(await postgres.createDatabase('silent'));
    network = await startCutProxy(Number(url.port));
    url.port = new URL(network.url).port;
    const pool = createPool({ connectionString: url.href, max: 1 }, quietLogger);
    const options = { url: url.href, logger: quietLogger, onSilent: () => undefined, checkMs: 100, limitMs: 2000 };
    const endWatch = endSilentConnections(pool, options);
    database = new KyselyDatabase({
      name: 'postgres',
      pool,
      listen: () => Promise.reject(new Error('not used')),
      beforeClose: async () => endWatch(),
      afterClose: async () => undefined,
    });
  });
  afterEach(() => network.restore());
  afterAll(async () => {
    await database?.close();
    await network?.stop();
    await postgres?.stop();
  });

  const select = sql`select 1`;
  it.each<[string, () => Promise<unknown>]>([
    [
      'begin',
      () => {
        network.freeze();
        return database.transaction((tx) => select.execute(tx));
      },
    ],
    [
      'a statement',
      () =>
        database.transaction(async (tx) => {
          await select.execute(tx);
          network.freeze();
          await select.execute(tx);
        }),
    ],
    [
      'commit',
      () =>
        database.transaction(async (tx) => {
          await select.execute(tx);
          network.freeze();
        }),
    ],
    [
      'rollback',
      () =>
        database.transaction(async (tx) => {
          await select.execute(tx);
          network.freeze();
          throw new Error('refused');
        }),
    ],
  ])('fails at %s as unavailable, and the next one succeeds', async (_, run) => {
    await database.ping();
    const error = await run().catch((cause: unknown) => cause);
    expect([isUnavailable(error), String(error)]).toEqual([true, String(error)]);
    network.restore();
    await database.ping();
  });
});
