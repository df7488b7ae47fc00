import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { sql } from 'kysely';
import { KinoraError } from '../lib/errors.js';
import type { Database } from './database.js';

const DIRECTORY = new URL('./migrations/', import.meta.url);
/**
 * An arbitrary fixed number: servers that start on one database at the same time migrate one after
 * the other.
 */
const LOCK = 7_204_611;
const INSUFFICIENT_PRIVILEGE = '42501';

interface Migration {
  readonly name: string;
  readonly text: string;
  readonly sha256: string;
  /**
   * Builds that have the migration of this number, or later ones, can use a database with this
   * migration.
   */
  readonly needs: number;
}

const readMigrations = async (directory: URL): Promise<Migration[]> => {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(name, directory), 'utf8');
      const number = numberOf(name);
      const needs = Number(NEEDS.exec(text)?.[1] ?? number);
      if (!(needs <= number)) throw new Error(`${name} needs a later migration, or its name has no number`);
      return { name, text, sha256: createHash('sha256').update(text).digest('hex'), needs };
    }),
  );
};

const NEEDS = /^-- needs (\d{4})$/m;
const numberOf = (name: string): number => Number(/^\d{4}(?=_)/.exec(name)?.[0]);
const fourDigits = (number: number): string => String(number).padStart(4, '0');

/**
 * Migrations of newer builds stay as they are if they let this build go on.
 * @throws KinoraError `config_invalid`
 */
const checkUnknown = (applied: readonly Applied[], migrations: readonly Migration[]): void => {
  const ownNames = new Set(migrations.map(({ name }) => name));
  const level = Math.max(0, ...migrations.map(({ name }) => numberOf(name)));
  // Without a value: a build that did not store it has applied it, so this build must have it as
  // well.
  const rejected = applied.filter(
    ({ name, needs }) => !ownNames.has(name) && (needs ?? Number.POSITIVE_INFINITY) > level,
  );
  if (rejected.length === 0) return;
  const names = rejected.map(({ name, needs }) =>
    needs === null ? name : `${name}, which needs ${fourDigits(needs)}`,
  );
  throw new KinoraError('config_invalid', {
    messages: [
      `The database was upgraded by another version of Kinora, and this one, which has migrations up to ${fourDigits(level)}, can't use it: it has ${names.sort().join('; ')}. Install that version, or restore the backup that was made before the upgrade.`,
    ],
  });
};

interface Applied {
  readonly name: string;
  readonly sha256: string;
  readonly needs: number | null;
}

/**
 * Updates the tables to the version of this build: runs every file of `migrations/` once, in order,
 * each in its own transaction. Returns the names of those that it ran. Servers of older builds can
 * use the database in the meantime and afterwards, unless a file needs a newer one.
 * @throws KinoraError `config_invalid` when an applied file was changed, the database has
 * migrations with which this build can't work, or its user must not change the tables
 */
export const migrate = async (database: Database, directory: URL = DIRECTORY): Promise<readonly string[]> => {
  try {
    return await applyMigrations(database, directory);
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === INSUFFICIENT_PRIVILEGE)) throw cause;
    const message = "The database user can't change Kinora's tables: make it their owner, or connect as their owner.";
    throw new KinoraError('config_invalid', { messages: [message], cause });
  }
};

const applyMigrations = async (database: Database, directory: URL): Promise<readonly string[]> => {
  const migrations = await readMigrations(directory);
  const ran: string[] = [];
  await database.queryable.connection().execute(async (connection) => {
    await sql`select pg_advisory_lock(${LOCK})`.execute(connection);
    try {
      await sql`create table if not exists schema_migration (
        name text primary key, sha256 text not null, applied_at timestamptz not null default now(), needs int
      )`.execute(connection);
      // Builds that did not store it made the table without the column.
      await sql`alter table schema_migration add column if not exists needs int`.execute(connection);
      const { rows } = await sql<Applied>`select name, sha256, needs from schema_migration`.execute(connection);
      checkUnknown(rows, migrations);
      const applied = new Map(rows.map((row) => [row.name, row.sha256]));
      for (const { name, sha256, text, needs } of migrations) {
        const before = applied.get(name);
        if (before === sha256) continue;
        if (before !== undefined) {
          throw new KinoraError('config_invalid', {
            messages: [`The database migration ${name} was changed after it had been applied.`],
          });
        }
        await connection.transaction().execute(async (tx) => {
          await sql.raw(text).execute(tx);
          await sql`insert into schema_migration (name, sha256, needs) values (${name}, ${sha256}, ${needs})`.execute(
            tx,
          );
        });
        ran.push(name);
      }
    } finally {
      await sql`select pg_advisory_unlock(${LOCK})`.execute(connection);
    }
  });
  return ran;
};
