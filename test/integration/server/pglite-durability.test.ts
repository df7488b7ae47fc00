import { existsSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { sql } from 'kysely';
import pg from 'pg';
import { afterEach, expect, it, vi } from 'vitest';
import { openDatabase } from '#kinora/db/open-database.js';
import { prepared } from '#kinora/db/prepared.js';
import { quietLogger } from '../../support/logger.js';
import { runScript } from '../../support/processes/child.js';
import { makeTestDataDir } from '../../support/servers/database.js';

const dirs: string[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const dir of dirs.splice(0)) await rm(dir, { recursive: true, force: true });
});
const dataDirWithDatabase = async (): Promise<string> => {
  const dir = await makeTestDataDir();
  dirs.push(dir);
  return dir;
};
const open = (dataDir: string) => openDatabase({ dataDir, logger: quietLogger });

const OPEN = `
  const { openDatabase } = await kinora('db/open-database.js');
  const logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => logger };
  const { sql } = await import(${JSON.stringify(import.meta.resolve('kysely'))});
  const database = await openDatabase({ dataDir: process.argv[1], logger });
  const db = database.queryable;
`;

it('asks the disk to keep every commit', async () => {
  const dataDir = await dataDirWithDatabase();
  const log = join(dataDir, 'fsyncs');
  writeFileSync(log, '');
  // Loaded in every thread before anything else; the engine's file system calls fs.fsyncSync by
  // this name.
  const spy = `import fs from 'node:fs'; const real = fs.fsyncSync;
    fs.fsyncSync = (fd) => { real(fd); fs.appendFileSync(${JSON.stringify(log)}, '.'); };`;
  const child = runScript(
    `${OPEN}
    const { statSync } = await import('node:fs');
    await sql\`create table t (n int)\`.execute(db);
    const before = statSync(process.argv[2]).size;
    for (let n = 0; n < 25; n++) await sql\`insert into t values (\${n})\`.execute(db);
    console.log(statSync(process.argv[2]).size - before);
    await database.close();`,
    [dataDir, log],
    ['--import', `data:text/javascript,${encodeURIComponent(spy)}`],
  );
  await child.closed;
  expect(Number(child.lines[0])).toBeGreaterThanOrEqual(25);
});

it('loses no acknowledged commit when the process is killed', async () => {
  const dataDir = await dataDirWithDatabase();
  const setup = await open(dataDir);
  await sql`create table ledger (id bigint generated always as identity primary key, amount int not null, note text)`.execute(
    setup.queryable,
  );
  await setup.close();
  const acknowledged: number[] = [];
  for (let round = 0; round < 3; round++) {
    const child = runScript(
      `${OPEN}
      for (let n = 1; ; n++) {
        const id = await database.transaction(async (tx) => {
          const note = n % 10 === 0 ? 'x'.repeat(100_000) : 'x';
          await sql\`insert into ledger (amount, note) values (\${-n}, \${note})\`.execute(tx);
          return (await sql\`insert into ledger (amount) values (\${n}) returning id\`.execute(tx)).rows[0].id;
        });
        console.log(id);
        if (n % 100 === 0) await sql\`checkpoint\`.execute(db);
      }`,
      [dataDir],
    );
    await vi.waitFor(() => expect(child.lines.length).toBeGreaterThan(20 + round * 90), {
      timeout: 120_000,
      interval: 3,
    });
    child.process.kill('SIGKILL');
    await child.closed;
    acknowledged.push(...child.lines.map(Number));
    const database = await open(dataDir);
    const { rows } = await sql<{ id: number }>`select id from ledger where amount > 0`.execute(database.queryable);
    const found = new Set(rows.map(({ id }) => id));
    expect(acknowledged.filter((id) => !found.has(id))).toEqual([]);
    const sums = await sql<{ sum: number }>`select sum(amount)::bigint as sum from ledger`.execute(database.queryable);
    expect(sums.rows).toEqual([{ sum: 0 }]);
    await database.close();
  }
  expect(acknowledged.length).toBeGreaterThan(300);
});

it('is created anew after a kill during the first start', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'kinora-first-'));
  dirs.push(dataDir);
  const child = runScript(`${OPEN} console.log('open');`, [dataDir]);
  // From then on the directory looks like a database, but it is not complete.
  await vi.waitFor(
    () => {
      const fresh = readdirSync(dataDir).find((name) => name.startsWith('db.new-'));
      expect(fresh && existsSync(join(dataDir, fresh, 'PG_VERSION'))).toBe(true);
    },
    { timeout: 120_000, interval: 2 },
  );
  child.process.kill('SIGKILL');
  await child.closed;
  expect(child.lines).toEqual([]);
  expect(existsSync(join(dataDir, 'db'))).toBe(false);
  const database = await open(dataDir);
  await database.ping();
  await database.close();
  expect(readdirSync(dataDir)).toEqual(['db']);
});

it('refuses the directory of another PostgreSQL version with a clear sentence', async () => {
  const dataDir = await dataDirWithDatabase();
  await writeFile(join(dataDir, 'db/PG_VERSION'), '17\n');
  await expect(open(dataDir)).rejects.toThrow('was made by PostgreSQL 17');
  await rm(join(dataDir, 'db/PG_VERSION'));
  await expect(open(dataDir)).rejects.toThrow('is not a database directory');
});

it('opens the engine again when it has died, with everybody still listening', async () => {
  const dataDir = await dataDirWithDatabase();
  const database = await open(dataDir);
  const heard: string[] = [];
  await database.listen('revival', (payload) => heard.push(payload));
  await sql`create table t (n int)`.execute(database.queryable);
  // The embedded engine cannot do this and ends its program.
  await expect(sql`copy t from stdin`.execute(database.queryable)).rejects.toThrow();
  await database.ping();
  await sql`notify revival, 'again'`.execute(database.queryable);
  await vi.waitFor(() => expect(heard).toEqual(['again']), { timeout: 120_000 });
  await database.close();
});

it('forgets what a dropped connection prepared', async () => {
  const connect = vi.spyOn(pg.Client.prototype, 'connect');
  const database = await open(await dataDirWithDatabase());
  const ask = () => database.queryable.selectNoFrom(sql<number>`1::int`.as('one')).modifyEnd(prepared).execute();
  expect(await ask()).toEqual([{ one: 1 }]);
  const client = connect.mock.contexts.at(-1) as unknown as pg.Client & { connection: { stream: Duplex } };
  connect.mockRestore();
  client.connection.stream.destroy();
  await new Promise<void>((resolve) => client.once('end', resolve));
  // The next client gets the same session of the engine.
  expect(await ask()).toEqual([{ one: 1 }]);
  await database.close();
});

it('cleans up after writes, and leaves an idle database alone', async () => {
  const dataDir = await dataDirWithDatabase();
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  const database = await open(dataDir);
  const state = async () => {
    const { rows } = await sql<{ analyzed: boolean; checkpoint: string }>`
      select reltuples > 0 as analyzed, (select redo_lsn::text from pg_control_checkpoint()) as checkpoint
      from pg_class where relname = 'environment'`.execute(database.queryable);
    return rows[0]!;
  };
  const before = await state();
  await vi.advanceTimersByTimeAsync(20 * 60_000);
  expect(await state()).toEqual(before);
  await database.queryable.insertInto('environment').values({ id: 'e', name: 'e', type: 'production' }).execute();
  await vi.advanceTimersByTimeAsync(15_000);
  await vi.waitFor(async () => expect((await state()).analyzed).toBe(true), { timeout: 120_000 });
  expect((await state()).checkpoint).not.toBe(before.checkpoint);
  await database.close();
});
