import { Kysely, PostgresDialect } from 'kysely';
import type { Schema } from '../../src/db/schema.js';

/** A database whose answers a test gives: the rows of each statement. */
export const scriptedDatabase = (response: (statement: string) => unknown[] | Promise<unknown[]>): Kysely<Schema> => {
  const query = async (statement: string) => ({ command: 'SELECT', rows: await response(statement) });
  const pool = { connect: async () => ({ query, release: () => undefined }), end: async () => undefined };
  return new Kysely<Schema>({ dialect: new PostgresDialect({ pool: pool as never }) });
};
