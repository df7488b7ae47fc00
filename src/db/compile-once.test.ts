import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely';
import { expect, test } from 'vitest';
import { compileOnce } from './compile-once.js';
import type { Schema } from './schema.js';

/** A database that returns no rows and records the queries it receives. */
const recorder = () => {
  const asked: { sql: string; parameters: readonly unknown[] }[] = [];
  const db = new Kysely<Schema>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (of) => new PostgresIntrospector(of),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
    log: ({ query: { sql, parameters } }) => void asked.push({ sql, parameters }),
  });
  return { db, asked };
};

test('a query is built once and sent with the values of each call', async () => {
  const { db, asked } = recorder();
  let built = 0;
  const find = compileOnce((queryable, id: string, status: 'ready' | 'errored', limit: number) => {
    built += 1;
    return queryable
      .selectFrom('asset')
      .select('id')
      .where('status', '=', status)
      .where('environment_id', '=', 'fixed')
      .where((eb) => eb.or([eb('id', '=', id), eb('source_asset_id', '=', id)]))
      .limit(limit);
  });
  expect(await find(db, 'a', 'ready', 1)).toEqual([]);
  await Promise.all([find(db, 'b', 'errored', 2), find(db, 'fixed', 'ready', 0)]);
  expect(built).toBe(1);
  expect(asked.map(({ parameters }) => parameters)).toEqual([
    ['ready', 'fixed', 'a', 'a', 1],
    ['errored', 'fixed', 'b', 'b', 2],
    ['ready', 'fixed', 'fixed', 'fixed', 0],
  ]);
  expect(new Set(asked.map(({ sql }) => sql)).size).toBe(1);
});
