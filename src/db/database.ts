import type { Kysely, Transaction as KyselyTransaction } from 'kysely';
import type { Schema } from './schema.js';

/** A handle on an open transaction; pass it to every call that must be part of it. */
export type Transaction = KyselyTransaction<Schema>;

/** Either the database itself or an open transaction. */
export type Queryable = Kysely<Schema>;

/**
 * PostgreSQL, embedded (`pglite.ts`) or external (`postgres.ts`): one SQL dialect, one contract suite. The embedded engine
 * has a single connection, so inside `transaction` every query must go through the handle or it waits for itself.
 */
export interface Database {
  readonly engine: 'pglite' | 'postgres';
  readonly queryable: Queryable;
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  /** Calls `handler` for every NOTIFY on `channel`, delivered at commit. Returns the way to stop. */
  listen(channel: string, handler: (payload: string) => void): Promise<() => Promise<void>>;
  /**
   * Copies the files of the embedded database to a directory that must not exist; queries wait meanwhile, so that the copy
   * shows one moment. Absent when the database is external.
   */
  snapshot?(directory: string): Promise<void>;
  /** @throws KinoraError `unavailable` */
  ping(): Promise<void>;
  close(): Promise<void>;
}
