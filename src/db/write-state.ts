import type { EventEmitter } from 'node:events';
import { sql } from 'kysely';
import type pg from 'pg';
import { newId } from '../lib/ids.js';
import type { Queryable } from './database.js';

/**
 * SQLSTATE 53100 (disk full), class 58 (files can't be used) and 25006 (the server became a
 * standby).
 */
const CANNOT_WRITE = /^(?:53100|58|25006)/;

/** Calls `onFailure` for every query that failed because the database could not write. */
export const watchWrites = (
  pool: pg.Pool,
  onFailure: (error: pg.DatabaseError, connection: EventEmitter & { readonly stream: { destroy(): unknown } }) => void,
): void => {
  pool.on('connect', (client) => {
    const { connection } = client as unknown as { connection: Parameters<typeof onFailure>[1] };
    connection.on('errorMessage', (error: pg.DatabaseError) => {
      if (CANNOT_WRITE.test(error.code ?? '') || error.severity === 'PANIC') onFailure(error, connection);
    });
  });
};

/** Does what needs a new file, room in it and a record in the log, and leaves nothing. */
export const checkWrite = (queryable: Queryable): Promise<void> =>
  queryable.transaction().execute(async (tx) => {
    const table = sql.table(`write_check_${newId()}`);
    await sql`create table ${table} (n int)`.execute(tx);
    await sql`insert into ${table} values (1)`.execute(tx);
    await sql`drop table ${table}`.execute(tx);
  });
