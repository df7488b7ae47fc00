import { createHash } from 'node:crypto';
import { cpSync, mkdirSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import type { Database } from '#kinora/db/database.js';
import { migrate } from '#kinora/db/migrate.js';
import { openDatabase } from '#kinora/db/open-database.js';
import { quietLogger } from '../logger.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const cacheDir = join(root, 'node_modules/.cache/kinora');
const migrationsDir = join(root, 'dist/db/migrations');

/**
 * A migrated database directory, made once per state of the migrations: initdb takes seconds, a
 * copy a fraction. Without the template databases, which nobody opens, there are half as many files
 * to copy.
 */
const templateDir = async (): Promise<string> => {
  const hash = createHash('sha256');
  for (const name of (await readdir(migrationsDir)).sort()) hash.update(await readFile(join(migrationsDir, name)));
  hash.update(await readFile(join(root, 'node_modules/@electric-sql/pglite/package.json')));
  hash.update(await readFile(join(root, 'dist/db/pglite-worker.js')));
  const template = join(cacheDir, `template-${hash.digest('hex').slice(0, 16)}`);
  if (await stat(template).catch(() => undefined)) return template;
  mkdirSync(cacheDir, { recursive: true });
  const fresh = await mkdtemp(`${template}.new-`);
  const database = await openDatabase({ dataDir: fresh, logger: quietLogger });
  await migrate(database);
  await sql`update pg_database set datistemplate = false`.execute(database.queryable);
  for (const name of ['template0', 'template1']) await sql`drop database ${sql.ref(name)}`.execute(database.queryable);
  await database.close();
  // Another test process may have been faster; its template is as good.
  await rename(fresh, template).catch(() => rm(fresh, { recursive: true, force: true }));
  return template;
};

export interface TestDatabase {
  readonly database: Database;
  readonly dataDir: string;
  close(): Promise<void>;
}

/**
 * Makes `dataDir` a data directory with a migrated embedded database that nobody has opened yet.
 */
export const fillDataDir = async (dataDir: string): Promise<void> => {
  // A third of the CPU time of `cp`, which awaits each of a thousand small files.
  cpSync(await templateDir(), dataDir, { recursive: true });
};

/** A new data directory, filled as `fillDataDir` does. */
export const makeTestDataDir = async (): Promise<string> => {
  const dataDir = await mkdtemp(join(tmpdir(), 'kinora-test-'));
  await fillDataDir(dataDir);
  return dataDir;
};

/**
 * A fresh embedded database with all migrations applied, in a directory of its own that `close`
 * removes.
 */
export const openTestDatabase = async (): Promise<TestDatabase> => {
  const dataDir = await makeTestDataDir();
  const database = await openDatabase({ dataDir, logger: quietLogger });
  return {
    database,
    dataDir,
    close: async () => {
      await database.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
};
