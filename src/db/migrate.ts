import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { sql } from 'kysely';
import { KinoraError } from '../lib/errors.js';
import type { Database } from './database.js';

const DIRECTORY = new URL('./migrations/', import.meta.url);
/** An arbitrary fixed number: servers that start on one database at the same time migrate one after the other. */
const LOCK = 7_204_611;

interface Migration {
  readonly name: string;
  readonly text: string;
  readonly sha256: string;
}

const readMigrations = async (directory: URL): Promise<Migration[]> => {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(name, directory), 'utf8');
      return { name, text, sha256: createHash('sha256').update(text).digest('hex') };
    }),
  );
};

/**
 * Updates the tables to the version of this build: runs every file of `migrations/` once, in order, each in its own
 * transaction.
 * @throws KinoraError `config_invalid` when an applied file was changed or the database has migrations that this build does
 * not know
 */
export const migrate = async (database: Database, directory: URL = DIRECTORY): Promise<void> => {
  const migrations = await readMigrations(directory);
  await database.queryable.connection().execute(async (connection) => {
    await sql`select pg_advisory_lock(${LOCK})`.execute(connection);
    try {
      await sql`create table if not exists schema_migration (
        name text primary key, sha256 text not null, applied_at timestamptz not null default now()
      )`.execute(connection);
      const { rows } = await sql<{ name: string; sha256: string }>`select name, sha256 from schema_migration`.execute(
        connection,
      );
      const applied = new Map(rows.map((row) => [row.name, row.sha256]));
      const known = new Set(migrations.map(({ name }) => name));
      const unknown = rows.map(({ name }) => name).filter((name) => !known.has(name));
      if (unknown.length > 0) {
        throw new KinoraError('config_invalid', {
          messages: [`The database was used by another version of Kinora (it has ${unknown.sort().join(', ')}).`],
        });
      }
      for (const { name, sha256, text } of migrations) {
        const before = applied.get(name);
        if (before === sha256) continue;
        if (before !== undefined) {
          throw new KinoraError('config_invalid', {
            messages: [`The database migration ${name} was changed after it had been applied.`],
          });
        }
        await connection.transaction().execute(async (tx) => {
          await sql.raw(text).execute(tx);
          await sql`insert into schema_migration (name, sha256) values (${name}, ${sha256})`.execute(tx);
        });
      }
    } finally {
      await sql`select pg_advisory_unlock(${LOCK})`.execute(connection);
    }
  });
};
