import { Kysely, PostgresDialect, sql } from 'kysely';
import type pg from 'pg';
import { KinoraError } from '../lib/errors.js';
import type { Database, Transaction } from './database.js';
import type { Schema } from './schema.js';
import { checkWrite, watchWrites } from './write-state.js';

/** What the two engines do differently. */
export interface Engine {
  readonly name: Database['engine'];
  readonly pool: pg.Pool;
  readonly listen: Database['listen'];
  readonly changes?: NonNullable<Database['changes']>;
  readonly snapshot?: NonNullable<Database['snapshot']>;
  beforeClose(): Promise<void>;
  afterClose(): Promise<void>;
}

/** The `Database` on top of an engine's pool. */
export class KyselyDatabase implements Database {
  readonly engine: Database['engine'];
  readonly queryable: Kysely<Schema>;
  readonly snapshot: Database['snapshot'];
  readonly changes: Database['changes'];
  readonly #engine: Engine;
  #closed: Promise<void> | undefined;
  /** A write failed for want of space, and none has succeeded since. */
  #writesFail = false;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.engine = engine.name;
    this.queryable = new Kysely<Schema>({ dialect: new PostgresDialect({ pool: engine.pool }) });
    this.changes = engine.changes && (() => engine.changes!());
    this.snapshot = engine.snapshot && ((directory) => engine.snapshot!(directory));
    watchWrites(engine.pool, () => {
      this.#writesFail = true;
    });
  }

  transaction<T>(task: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.queryable.transaction().execute(task);
  }

  listen(...of: Parameters<Database['listen']>): ReturnType<Database['listen']> {
    return this.#engine.listen(...of);
  }

  async ping(): Promise<void> {
    try {
      if (!this.#writesFail) return void (await sql`select 1`.execute(this.queryable));
      await checkWrite(this.queryable);
      this.#writesFail = false;
    } catch (cause) {
      throw new KinoraError('unavailable', { cause, details: { stage: 'database ping' } });
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const { pool } = this.#engine;
    try {
      await this.#engine.beforeClose();
    } finally {
      await this.queryable.destroy();
      // Kysely ends the pool only if it has run a query.
      if (!pool.ended && !pool.ending) await pool.end();
      await this.#engine.afterClose();
    }
  }
}
