import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type LockMode, ServerLock } from '#kinora/db/server-lock.js';
import { quietLogger } from '../../support/logger.js';
import { runCli } from '../../support/processes/run-cli.js';
import { boot } from '../../support/servers/boot.js';
import { hasPostgres, startPostgres, type TestPostgres } from '../../support/servers/postgres.js';

const unexpected = (): void => {
  throw new Error('the lock was lost');
};

describe.skipIf(!hasPostgres())('servers on one PostgreSQL database', () => {
  let postgres: TestPostgres;
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(() => postgres.stop());

  const locks: ServerLock[] = [];
  afterEach(async () => {
    for (const lock of locks.splice(0)) await lock.release();
  });
  const acquire = async (url: string, onLost = unexpected, mode: LockMode = 'alone'): Promise<ServerLock> => {
    const lock = await ServerLock.acquire({ url, mode }, quietLogger, onLost);
    locks.push(lock);
    return lock;
  };

  /** How many sessions hold an advisory lock; `sql` is asked of each, such as to end it. */
  const holders = async (url: string, sql = ''): Promise<number> => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query(
      `select pid ${sql} from pg_locks where locktype = 'advisory' and granted
        and database = (select oid from pg_database where datname = current_database())`,
    );
    await client.end();
    return rows.length;
  };

  it('refuses the second server while the first runs, and lets commands work beside it', async () => {
    const url = await postgres.createDatabase('serving');
    const first = await boot({ options: { DATABASE_URL: url } });
    try {
      await expect(boot({ options: { DATABASE_URL: url } })).rejects.toMatchObject({
        code: 'data_dir_in_use',
        message: expect.stringMatching(/^The database is in use by another Kinora server\. .* set KINORA_BLOBS=s3:/),
      });
      expect((await fetch(`${first.url}/readyz`)).status).toBe(200);
      const env = { KINORA_DATABASE_URL: url, KINORA_DATA_DIR: first.dataDir };
      expect(await runCli(['env', 'create', 'Staging', '--type', 'development'], env)).toMatchObject({ status: 0 });
      expect(await holders(url)).toBe(1);
    } finally {
      await first.stop();
    }
    await (await boot({ options: { DATABASE_URL: url } })).stop();
  });

  it('takes the lock again when its connection breaks', async () => {
    const url = await postgres.createDatabase('broken');
    await acquire(url);
    expect(await holders(url, ', pg_terminate_backend(pid)')).toBe(1);
    await vi.waitFor(async () => expect(await holders(url)).toBe(1), { timeout: 120_000 });
    await expect(acquire(url)).rejects.toMatchObject({ code: 'data_dir_in_use' });
  });

  it('says so when another server has taken it meanwhile', async () => {
    const url = await postgres.createDatabase('taken');
    const onLost = vi.fn();
    await acquire(url, onLost);
    const other = new pg.Client({ connectionString: url });
    await other.connect();
    // Waits in PostgreSQL's own queue, so that it is the next to have the lock.
    const taken = other.query(
      `select pg_advisory_lock((classid::bigint << 32) | objid::bigint) from pg_locks
        where locktype = 'advisory' and granted and database = (select oid from pg_database where datname = 'taken')`,
    );
    const killer = new pg.Client({ connectionString: url });
    await killer.connect();
    const waiting = `select 1 from pg_locks where locktype = 'advisory' and not granted
      and database = (select oid from pg_database where datname = 'taken')`;
    await vi.waitFor(async () => expect((await killer.query(waiting)).rowCount).toBe(1), { timeout: 120_000 });
    await killer.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = 'taken' and application_name like 'kinora-%'",
    );
    await killer.end();
    await taken;
    await vi.waitFor(() => expect(onLost).toHaveBeenCalledTimes(1), { timeout: 120_000 });
    await other.end();
  });

  it('is free again after its release', async () => {
    const url = await postgres.createDatabase('released');
    await (await acquire(url)).release();
    await acquire(url);
  });
});
