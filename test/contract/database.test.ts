import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { sql } from 'kysely';
import ts from 'typescript';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { clockDifferenceMs } from '#kinora/db/clock-difference.js';
import type { Transaction } from '#kinora/db/database.js';
import { migrate } from '#kinora/db/migrate.js';
import { prepared as preparedMark } from '#kinora/db/prepared.js';
import { releaseLease, takeLease } from '#kinora/db/tables/server/node.js';
import { systemClock } from '#kinora/lib/clock.js';
import { describeOnBothEngines } from './engines.js';

/** Table, column and whether it may be null, as `schema.ts` says. */
const declaredColumns = async (): Promise<string[]> => {
  const text = await readFile(new URL('../../src/db/schema.ts', import.meta.url), 'utf8');
  const file = ts.createSourceFile('schema.ts', text, ts.ScriptTarget.ES2023, true);
  const columns: string[] = [];
  for (const node of file.statements) {
    if (!ts.isInterfaceDeclaration(node) || node.name.text !== 'Schema') continue;
    for (const table of node.members.filter(ts.isPropertySignature)) {
      for (const column of (table.type as ts.TypeLiteralNode).members.filter(ts.isPropertySignature)) {
        const type = column.type!.getText(file);
        const nullable = /\|\s*null\s*>?$/.test(type);
        columns.push(`${table.name.getText(file)}.${column.name.getText(file)}${nullable ? ' null' : ''}`);
      }
    }
  }
  return columns.sort();
};

describeOnBothEngines('database', (database) => {
  it('has exactly the tables and columns that schema.ts declares', async () => {
    const { rows } = await sql<{ column: string }>`
      select table_name || '.' || column_name || case when is_nullable = 'YES' then ' null' else '' end as column
      from information_schema.columns
      where table_schema = 'public' and table_name <> 'schema_migration'`.execute(database().queryable);
    expect(rows.map(({ column }) => column).sort()).toEqual(await declaredColumns());
  });

  it('keeps times used for paging to the millisecond', async () => {
    const { rows } = await sql<{ name: string }>`
      select table_name || '.' || column_name as name from information_schema.columns
      where table_schema = 'public' and data_type like 'timestamp%' and datetime_precision <> 3
        and table_name not in ('job', 'schema_migration')`.execute(database().queryable);
    expect(rows).toEqual([]);
  });

  it('pages by a Date cursor without losing a row', async () => {
    const db = database().queryable;
    await db.insertInto('environment').values({ id: 'paging', name: 'paging', type: 'development' }).execute();
    const id = (n: number): string => `page${String(n).padStart(36, '0')}`;
    for (let n = 0; n < 60; n++) {
      await sql`insert into asset (id, environment_id, ingest_type, video_quality, max_resolution_tier, mp4_support,
        master_access, normalize_audio, is_test, created_at)
        values (${id(n)}, 'paging', 'on_demand_url', 'basic', '1080p', 'none', 'none', false, false, clock_timestamp())
      `.execute(db);
    }
    const seen: string[] = [];
    let cursor: { created_at: Date; seq: number } | undefined;
    for (;;) {
      let query = db
        .selectFrom('asset')
        .select(['id', 'created_at', 'seq'])
        .where('environment_id', '=', 'paging')
        .orderBy('created_at', 'desc')
        .orderBy('seq', 'desc')
        .limit(7);
      if (cursor) {
        const { created_at, seq } = cursor;
        query = query.where(sql<boolean>`(created_at, seq) < (${created_at}::timestamptz, ${seq}::bigint)`);
      }
      const rows = await query.execute();
      seen.push(...rows.map((row) => row.id));
      cursor = rows.at(-1);
      if (!cursor) break;
    }
    expect(seen).toEqual(Array.from({ length: 60 }, (_, n) => id(59 - n)));
  });

  it('reads bigint as a number and refuses one that is not exact', async () => {
    const db = database().queryable;
    const read = (text: string) => sql<{ n: number }>`select ${sql.raw(text)}::bigint as n`.execute(db);
    expect((await read('9007199254740991')).rows).toEqual([{ n: Number.MAX_SAFE_INTEGER }]);
    await expect(read('9007199254740993')).rejects.toThrow('not a safe integer');
    await database().ping();
  });

  it('prepares a marked query once on each connection', async () => {
    const prepared = async (tx: Transaction) =>
      (
        await sql<{
          name: string;
        }>`select name from pg_prepared_statements where statement like '%as "marked"%'`.execute(tx)
      ).rows;
    await database().transaction(async (tx) => {
      const ask = (n: number) => tx.selectNoFrom(sql<number>`${n}::int`.as('marked')).modifyEnd(preparedMark).execute();
      expect([await ask(1), await ask(2)]).toEqual([[{ marked: 1 }], [{ marked: 2 }]]);
      expect(await prepared(tx)).toHaveLength(1);
    });
  });

  it('undoes a failed transaction and goes on', async () => {
    const db = database();
    const work = db.transaction(async (tx) => {
      await tx.insertInto('environment').values({ id: 'undone', name: 'undone', type: 'development' }).execute();
      throw new Error('no');
    });
    await expect(work).rejects.toThrow('no');
    expect(await db.queryable.selectFrom('environment').select('id').where('id', '=', 'undone').execute()).toEqual([]);
  });

  it('delivers notifications at commit and none of what was rolled back', async () => {
    const db = database();
    const heard: string[] = [];
    const stop = await db.listen('contract', (payload) => heard.push(payload));
    await db
      .transaction(async (tx) => {
        await sql`select pg_notify('contract', 'undone')`.execute(tx);
        throw new Error('no');
      })
      .catch(() => undefined);
    await db.transaction(async (tx) => {
      await sql`select pg_notify('contract', 'first')`.execute(tx);
      expect(heard).toEqual([]);
    });
    await sql`select pg_notify('contract', 'second')`.execute(db.queryable);
    await vi.waitFor(() => expect(heard).toEqual(['first', 'second']), { timeout: 120_000 });
    await stop();
  });

  it('listens again to a channel after a failure', async () => {
    const listen = (channel: string) => database().listen(channel, () => undefined);
    await expect(listen('no"channel')).rejects.toThrow();
    // Not taken for one that is listened to.
    await expect(listen('no"channel')).rejects.toThrow();
  });

  it('gives a lease to one holder at a time, until it ends or is given back', async () => {
    const db = database().queryable;
    const take = (holder: string) => takeLease(db, { name: 'work', holder, seconds: 600 });
    expect([await take('a'), await take('b'), await take('a')]).toEqual([true, false, true]);
    await releaseLease(db, { name: 'work', holder: 'b' });
    expect(await take('b')).toBe(false);
    await releaseLease(db, { name: 'work', holder: 'a' });
    expect([await take('b'), await take('a')]).toEqual([true, false]);
    await sql`update node_lease set until = now() - interval '1 second'`.execute(db);
    expect([await take('a'), await take('b')]).toEqual([true, false]);
  });

  describe('migrations of several builds', () => {
    const builds = mkdtempSync(join(tmpdir(), 'kinora-migrations-'));
    afterAll(() => rmSync(builds, { recursive: true }));
    const own = fileURLToPath(new URL('migrations', import.meta.resolve('#kinora/db/migrate.js')));
    const last = Math.max(...readdirSync(own).map((name) => Number(name.slice(0, 4))));
    /** The directory of a build that has `added` besides the migrations of this one. */
    const build = (name: string, added: Readonly<Record<string, string>>): URL => {
      const directory = join(builds, name);
      cpSync(own, directory, { recursive: true });
      for (const [file, text] of Object.entries(added)) writeFileSync(join(directory, file), text);
      return pathToFileURL(`${directory}/`);
    };
    const expand = {
      '9001_expand.sql': `-- Adds.\n-- needs ${String(last).padStart(4, '0')}\ncreate table added (n int);`,
    };
    const contract = { '9002_contract.sql': '-- Removes.\n-- needs 9001\ndrop table added;' };

    it('applies each once', async () => {
      const [one, other] = await Promise.all([migrate(database()), migrate(database())]);
      expect([...one, ...other]).toEqual([]);
    });

    it('lets a build go on with the migrations of newer builds that allow it, and refuses the others', async () => {
      const db = database();
      expect(await migrate(db, build('expand', expand))).toEqual(['9001_expand.sql']);
      expect(await migrate(db)).toEqual([]);
      expect(await migrate(db, build('contract', { ...expand, ...contract }))).toEqual(['9002_contract.sql']);
      await expect(migrate(db)).rejects.toMatchObject({
        code: 'config_invalid',
        message: expect.stringContaining('it has 9002_contract.sql, which needs 9001. Install that version'),
      });
      expect(await migrate(db, build('expand', expand))).toEqual([]);
      // One whose file has no such line needs a build that has it.
      const closed = { '9003_closed.sql': 'select 1;' };
      await migrate(db, build('closed', { ...expand, ...contract, ...closed }));
      await expect(migrate(db, build('expand', expand))).rejects.toThrow('it has 9003_closed.sql, which needs 9003.');
      // Builds before this rule did not store what their migrations need.
      await sql`update schema_migration set needs = null where name = '9003_closed.sql'`.execute(db.queryable);
      await expect(migrate(db, build('expand', expand))).rejects.toThrow('it has 9003_closed.sql. Install');
      await sql`delete from schema_migration where name > '9000'`.execute(db.queryable);
    });

    it('refuses a migration that was changed, and one that needs a later one', async () => {
      const [name] = readdirSync(own);
      await expect(migrate(database(), build('changed', { [name!]: 'select 1;' }))).rejects.toThrow(
        'was changed after it had been applied',
      );
      await expect(migrate(database(), build('later', { '9001_wrong.sql': '-- needs 9002\n' }))).rejects.toThrow(
        '9001_wrong.sql needs a later migration',
      );
    });
  });

  it('tells how far a clock is ahead of its own', async () => {
    const clockAhead = (ms: number) => ({ ...systemClock, now: () => new Date(Date.now() + ms) });
    expect(Math.abs(await clockDifferenceMs(database(), systemClock))).toBeLessThan(5000);
    const ahead = await clockDifferenceMs(database(), clockAhead(3_600_000));
    expect(Math.round(ahead / 60_000)).toBe(60);
    const behind = await clockDifferenceMs(database(), clockAhead(-3_600_000));
    expect(Math.round(behind / 60_000)).toBe(-60);
  });

  it('answers 100 callers at once', async () => {
    const responses = Array.from({ length: 100 }, (_, n) =>
      sql<{ n: number }>`select ${n}::int as n`.execute(database().queryable),
    );
    expect((await Promise.all(responses)).map(({ rows }) => rows[0]!.n)).toEqual(
      Array.from({ length: 100 }, (_, n) => n),
    );
  });
});
