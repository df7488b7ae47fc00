import { Kysely, PostgresDialect } from 'kysely';
import type { Schema } from '../../src/db/schema.js';

/** A database whose answers a test gives: the rows of each statement. */
export const scriptedDatabase = (answer: (statement: string) => unknown[] | Promise<unknown[]>): Kysely<Schema> => {
  const query = async (statement: string) => ({ command: 'SELECT', rows: await answer(statement) });
  const pool = { connect: async () => ({ query, release: () => undefined }), end: async () => undefined };
  return new Kysely<Schema>({ dialect: new PostgresDialect({ pool: pool as never }) });
};
