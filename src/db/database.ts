import type { Kysely, Transaction as KyselyTransaction } from 'kysely';
import type { Schema } from './schema.js';

/** A handle for an open transaction; pass it to every call that must be part of the transaction. */
export type Transaction = KyselyTransaction<Schema>;

/** Either the database itself or an open transaction. */
export type Queryable = Kysely<Schema>;

/**
 * PostgreSQL, either embedded (`pglite-engine.ts`) or external (`postgres-engine.ts`). Both use the
 * same SQL dialect and pass the same contract tests. An interface, because the other rooms may
 * import only the contract, and tests wrap it. The embedded engine has a single connection, so
 * every query inside `transaction` must use the handle; otherwise the transaction waits for itself.
 */
export interface Database {
  readonly engine: 'pglite' | 'postgres';
  readonly queryable: Queryable;
  transaction<T>(task: (tx: Transaction) => Promise<T>): Promise<T>;
  /**
   * Calls `handler` for every NOTIFY on `channel`, delivered at commit. The connection to an
   * external server may be lost: `onMissed` is called once it is back, because notifications of the
   * meantime are lost too. Returns a function that stops the calls.
   */
  listen(channel: string, handler: (payload: string) => void, onMissed?: () => void): Promise<() => Promise<void>>;
  /**
   * A number that is another one after every change of the data, before whoever made the change
   * hears of it. What a query read stays true while the number is the one from before the query.
   * Absent when other processes can change the data.
   */
  changes?(): number;
  /**
   * Copies the files of the embedded database to a directory that must not exist. Queries wait
   * until the copy is complete, so the copy is consistent. Absent when the database is external.
   */
  snapshot?(directory: string): Promise<void>;
  /**
   * Also writes if the last write failed for want of space.
   * @throws KinoraError `unavailable`
   */
  ping(): Promise<void>;
  close(): Promise<void>;
}
