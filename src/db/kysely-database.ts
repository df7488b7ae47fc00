import { Kysely, PostgresDialect, sql } from 'kysely';
import type pg from 'pg';
import { KinoraError } from '../lib/errors.js';
import type { Database } from './database.js';
import type { Schema } from './schema.js';
import { checkWrite, watchWrites } from './write-state.js';

interface DatabaseParts {
  readonly engine: Database['engine'];
  readonly pool: pg.Pool;
  readonly listen: Database['listen'];
  readonly snapshot?: NonNullable<Database['snapshot']>;
  readonly beforeClose: () => Promise<void>;
  readonly afterClose: () => Promise<void>;
}

/** The `Database` on top of a pool: the part that both engines share. */
export const createDatabase = ({
  engine,
  pool,
  listen,
  snapshot,
  beforeClose,
  afterClose,
}: DatabaseParts): Database => {
  const queryable = new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) });
  let closed: Promise<void> | undefined;
  /** A write failed for want of space, and none has succeeded since. */
  let writesFail = false;
  watchWrites(pool, () => {
    writesFail = true;
  });
  const close = async (): Promise<void> => {
    try {
      await beforeClose();
    } finally {
      await queryable.destroy();
      // Kysely ends the pool only if it has run a query.
      if (!pool.ended && !pool.ending) await pool.end();
      await afterClose();
    }
  };
  return {
    engine,
    queryable,
    listen,
    ...(snapshot && { snapshot }),
    transaction: (work) => queryable.transaction().execute(work),
    ping: async () => {
      try {
        if (!writesFail) return void (await sql`select 1`.execute(queryable));
        await checkWrite(queryable);
        writesFail = false;
      } catch (cause) {
        throw new KinoraError('unavailable', { cause, details: { stage: 'database ping' } });
      }
    },
    close: () => {
      closed ??= close();
      return closed;
    },
  };
};
