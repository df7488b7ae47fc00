import { constants, existsSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import type pg from 'pg';
import { systemClock } from '../lib/clock.js';
import type { Logger } from '../telemetry/logger.js';
import { createPool } from './create-pool.js';
import type { Engine } from './kysely-database.js';
import { checkVersion, createDirectory } from './pglite-directory.js';
import { PgliteStream } from './pglite-stream.js';
import { PgliteThread } from './pglite-thread.js';
import { watchWrites } from './write-state.js';

const MAINTENANCE_CHECK_MS = 15_000;
/**
 * Maintenance runs as soon as this much write-ahead log has been written since the last run, or
 * after the maximum age if anything was written.
 */
const MAINTENANCE_WAL_BYTES = 32 * 1024 * 1024;
const MAINTENANCE_MAX_AGE_MS = 10 * 60_000;

/** PostgreSQL inside this process: PGlite on a worker thread. */
export class PgliteEngine implements Engine {
  readonly name = 'pglite';
  readonly pool: pg.Pool;
  readonly #directory: string;
  readonly #thread: PgliteThread;
  readonly #logger: Logger;
  readonly #handlers = new Map<string, Set<(payload: string) => void>>();
  readonly #timer: NodeJS.Timeout;
  #maintaining = Promise.resolve();
  #maintainedPosition = 0;
  #maintainedAtMs = systemClock.monotonicMs();

  /**
   * The caller must hold the lock of the data directory: two processes that use one directory
   * corrupt it.
   * @throws KinoraError `config_invalid`, `unavailable`
   */
  static async open(directory: string, logger: Logger): Promise<PgliteEngine> {
    if (!existsSync(directory)) await createDirectory(directory, logger);
    await checkVersion(directory);
    const thread = new PgliteThread(directory, logger);
    await thread.ready();
    const engine = new PgliteEngine(directory, thread, logger);
    engine.#maintainedPosition = await engine.#walPosition();
    return engine;
  }

  private constructor(directory: string, thread: PgliteThread, logger: Logger) {
    this.#directory = directory;
    this.#thread = thread;
    this.#logger = logger;
    this.pool = createPool(
      // The session lives as long as the database, so closing an idle connection would only require
      // a reconnect.
      { stream: () => new PgliteStream(thread) as never, max: 1, idleTimeoutMillis: 0 },
      logger,
    );
    // What the engine knows of its files may be wrong now.
    watchWrites(this.pool, (error, connection) => {
      if (!thread.reopen(error.severity === 'PANIC')) return;
      logger.error({ err: error }, 'database could not write, opening it again');
      connection.stream.destroy();
    });
    this.pool.on('connect', (client) => {
      client.on('notification', ({ channel, payload }) => {
        for (const handler of this.#handlers.get(channel) ?? []) handler(payload ?? '');
      });
    });
    this.#timer = setInterval(() => {
      this.#maintaining = this.#maintain().catch((error) =>
        this.#logger.error({ err: error }, 'database maintenance failed'),
      );
    }, MAINTENANCE_CHECK_MS).unref();
  }

  changes(): number {
    return this.#thread.changes;
  }

  async listen(channel: string, handler: (payload: string) => void): Promise<() => Promise<void>> {
    const handlers = this.#handlers.get(channel) ?? new Set();
    this.#handlers.set(channel, handlers.add(handler));
    try {
      // Also for a channel with a handler: its own LISTEN may fail yet.
      await this.pool.query(`listen "${channel}"`);
    } catch (error) {
      handlers.delete(handler);
      throw error;
    }
    this.#thread.channels.add(channel);
    // The session keeps listening: a channel without a handler costs nothing.
    return async () => void handlers.delete(handler);
  }

  async snapshot(target: string): Promise<void> {
    // This is the pool's only connection. The engine works only on request, so its files do not
    // change while the connection is held.
    const client = await this.pool.connect();
    try {
      await client.query('checkpoint');
      await cp(this.#directory, target, { recursive: true, mode: constants.COPYFILE_FICLONE });
    } finally {
      client.release();
    }
  }

  async beforeClose(): Promise<void> {
    clearInterval(this.#timer);
    await this.#maintaining;
    await this.pool.query('checkpoint');
  }

  afterClose(): Promise<void> {
    return this.#thread.close();
  }

  async #walPosition(): Promise<number> {
    const { rows } = await this.pool.query<{ position: number }>(
      "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint as position",
    );
    return rows[0]!.position;
  }

  /**
   * The embedded engine has no background processes: without this the log and dead rows would grow
   * without limit.
   */
  async #maintain(): Promise<void> {
    const written = (await this.#walPosition()) - this.#maintainedPosition;
    const ageMs = systemClock.monotonicMs() - this.#maintainedAtMs;
    if (written < MAINTENANCE_WAL_BYTES && (written === 0 || ageMs < MAINTENANCE_MAX_AGE_MS)) return;
    await this.pool.query('checkpoint');
    await this.pool.query('vacuum (analyze)');
    this.#maintainedPosition = await this.#walPosition();
    this.#maintainedAtMs = systemClock.monotonicMs();
  }
}
