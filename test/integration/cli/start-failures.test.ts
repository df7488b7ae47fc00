import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../../support/processes/run-cli.js';
import { fillDataDir } from '../../support/servers/database.js';
import { hasPostgres, startPostgres, type TestPostgres } from '../../support/servers/postgres.js';
import { mountSmallDisk } from '../../support/servers/small-disk.js';

const directory = mkdtempSync(join(tmpdir(), 'kinora-start-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const PASSWORD = 'hunter2';

/** Runs `serve`, which must end with `status` and one line that says `sentence`. */
const refuse = async (status: number, sentence: RegExp, env: Record<string, string>, args: readonly string[] = []) => {
  const dataDir = join(directory, 'data');
  const result = await runCli(['serve', '--port', '0', '--log-level', 'error', ...args], {
    KINORA_DATA_DIR: dataDir,
    ...env,
  });
  expect(result.stderr).toMatch(/^kinora: [^\n]+\n$/);
  expect(result.stderr).toMatch(sentence);
  expect(result.status).toBe(status);
  expect(result.stdout + result.stderr).not.toContain(PASSWORD);
};

describe('kinora serve, with an address that it can not listen on', () => {
  // Too long for a name, so no name server is asked.
  const noName = `${'x'.repeat(64)}.invalid`;

  it.each([
    [1, ['--host', '192.0.2.1'], /192\.0\.2\.1:0 is not available \(EADDRNOTAVAIL\); .* set KINORA_HOST to /],
    [1, ['--metrics-host', '192.0.2.1', '--metrics-port', '0'], /\(EADDRNOTAVAIL\); .* set KINORA_METRICS_HOST to /],
    [2, ['--host', noName], /x\.invalid:0 is not available \(ENOTFOUND\); .* set KINORA_HOST to /],
  ])('status %i for %j', (status, args, sentence) => refuse(status, sentence, {}, args));
});

describe('kinora serve, with a PostgreSQL server that it can not reach', () => {
  const use = (place: string) => ({ KINORA_DATABASE_URL: `postgres://kinora:${PASSWORD}@${place}/kinora` });
  const remedy = 'start it, or correct KINORA_DATABASE_URL';

  it.each([
    ['127.0.0.1:1', `at 127.0.0.1:1 can't be used now \\(connect ECONNREFUSED .*\\): ${remedy}`],
    ['nowhere.invalid', `at nowhere.invalid:5432 can't be used now \\(.*(ENOTFOUND|EAI_AGAIN).*\\): ${remedy}`],
  ])('%s', (place, sentence) => refuse(1, new RegExp(sentence), use(place)));

  it('a server that never answers', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const place = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
    await refuse(1, new RegExp(`at ${place} can't be used now \\(.*time.*\\): ${remedy}`), use(place));
    silent.close();
  });
});

describe.runIf(hasPostgres())('kinora serve, with a PostgreSQL server that refuses it', () => {
  let postgres: TestPostgres;
  let owner: string;
  beforeAll(async () => {
    postgres = await startPostgres();
    owner = await postgres.createDatabase('kinora');
    const client = new pg.Client({ connectionString: owner });
    await client.connect();
    await client.query(`
      create role locked login password '${PASSWORD}';
      create role shut login;
      create role reader login;
      create role stranger login;
      create role standby login;
      alter role standby set default_transaction_read_only = on;
      grant create on schema public to stranger, standby;
      create table schema_migration (name text)`);
    const { rows } = await client.query<{ path: string }>("select current_setting('hba_file') as path");
    const rules = ['host all locked all scram-sha-256', 'host all shut all reject', 'host all all all trust'];
    await client.query(
      `copy (select unnest(array[${rules.map((rule) => `'${rule}'`)}])) to '${rows[0]!.path}'; select pg_reload_conf()`,
    );
    await client.end();
  });
  afterAll(() => postgres?.stop());

  it.each([
    ['no such database', 'postgres', 'absent', /has no database "absent": create it, or correct KINORA_DATABASE_URL/],
    ['no such user', 'nobody', 'kinora', /refuses the user "nobody": correct .* \(role "nobody" does not exist\)/],
    [
      'a wrong password',
      `locked:not-${PASSWORD}`,
      'kinora',
      /rejects the password .*"locked": correct KINORA_DATABASE_URL/,
    ],
    ['no password', 'locked', 'kinora', /refuses the user "locked": correct KINORA_DATABASE_URL.* password must be/],
    ['a user that may not connect', 'shut', 'kinora', /refuses the user "shut": correct .* \(pg_hba\.conf rejects/],
    ['a user that may not create tables', 'reader', 'kinora', /grant usage, create on schema public to "reader"\./],
    [
      'tables of another user',
      'stranger',
      'kinora',
      /make it their owner.* \(must be owner of table schema_migration\)/,
    ],
  ])('%s', async (_, user, database, sentence) => {
    const url = new URL(owner);
    const env = { KINORA_DATABASE_URL: `postgres://${user}@${url.host}/${database}` };
    await refuse(2, sentence, env);
  });

  it('a server that only reads', async () => {
    const env = { KINORA_DATABASE_URL: `postgres://standby@${new URL(owner).host}/kinora` };
    await refuse(1, /The database can't be used now \(cannot execute .* in a read-only transaction\);/, env);
  });
});

const disk = mountSmallDisk({ mebibytes: 64, inodes: 4000 });
afterAll(() => disk?.unmount());

describe.runIf(disk)('kinora serve, with a full disk', () => {
  const sentence = /A disk is full; free space or inodes on it \(.*(ENOSPC|No space left on device).*\)\.$/m;
  const start = (name: string) => refuse(1, sentence, { KINORA_DATA_DIR: join(disk!.dir, name) });

  it('too small for a new database', async () => {
    const small = mountSmallDisk({ mebibytes: 16, inodes: 4000 })!;
    try {
      await refuse(1, sentence, { KINORA_DATA_DIR: join(small.dir, 'data') });
    } finally {
      small.unmount();
    }
  });

  it.each(['fillSpace', 'fillInodes'] as const)('%s, at the first start and at a later one', async (fill) => {
    const later = `later-${fill}`;
    await fillDataDir(join(disk!.dir, later));
    disk![fill]();
    await start(`first-${fill}`);
    await start(later);
    disk!.empty();
    rmSync(join(disk!.dir, later), { recursive: true });
  });
});
