import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { KinoraError } from '../lib/errors.js';
import { newId } from '../lib/ids.js';
import type { Logger } from '../telemetry/logger.js';

/** `shared`: several servers use the database together, but none that wants it alone. */
export type LockMode = 'alone' | 'shared';

/** Chosen at random; must differ from the number that `migrate` uses. */
const LOCK = '7203915463852047713';
/** The session of a server that was just killed can hold the lock a little longer. */
const TRIES = 6;
const TRY_DELAY_MS = 500;
const RECONNECT_MS = 1_000;
/**
 * Makes PostgreSQL end the session of an unreachable machine within a minute instead of two hours.
 */
const KEEPALIVE = 'set tcp_keepalives_idle = 30; set tcp_keepalives_interval = 10; set tcp_keepalives_count = 3';

const connect = async (url: string): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString: url, keepAlive: true, connectionTimeoutMillis: 30_000 });
  // An `end` event follows and reports the lost connection; without a listener the error event
  // would end the process.
  client.on('error', () => undefined);
  await client.connect();
  return client;
};

const tryLock = async (client: pg.Client, name: string, mode: LockMode): Promise<boolean> => {
  const call = mode === 'shared' ? 'pg_try_advisory_lock_shared' : 'pg_try_advisory_lock';
  await client.query(KEEPALIVE);
  // Not set as a connection option, because an option in the URL would override it.
  await client.query("select set_config('application_name', $1, false)", [name]);
  for (let attempt = 1; ; attempt++) {
    // After a network failure, an earlier session of this server may still exist.
    await client.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and pid <> pg_backend_pid()',
      [name],
    );
    const { rows } = await client.query<{ locked: boolean }>(`select ${call}($1) as locked`, [LOCK]);
    if (rows[0]?.locked === true) return true;
    if (attempt === TRIES) return false;
    await delay(TRY_DELAY_MS);
  }
};

interface LockOptions {
  readonly url: string;
  readonly mode: LockMode;
}

/**
 * Makes this process the only server on the database at `url`, or one of those that share it; other
 * commands can still use the database. A dedicated connection holds the lock and takes it again
 * after a reconnect.
 */
export class ServerLock {
  readonly #options: LockOptions;
  readonly #logger: Logger;
  readonly #onLost: () => void;
  readonly #name = `kinora-${newId()}`;
  #released = false;
  #current: pg.Client | undefined;

  /**
   * `onLost` is called when another server has taken the lock first; the process must then stop
   * immediately.
   * @throws KinoraError `data_dir_in_use`
   */
  static async acquire(options: LockOptions, logger: Logger, onLost: () => void): Promise<ServerLock> {
    const lock = new ServerLock(options, logger, onLost);
    if (await lock.#take()) return lock;
    throw new KinoraError('data_dir_in_use', {
      messages: [
        'The database is in use by another Kinora server. Servers share a database only if all of them keep their blobs in the same bucket: set KINORA_BLOBS=s3://bucket/prefix.',
      ],
    });
  }

  private constructor(options: LockOptions, logger: Logger, onLost: () => void) {
    this.#options = options;
    this.#logger = logger;
    this.#onLost = onLost;
  }

  async release(): Promise<void> {
    this.#released = true;
    const client = this.#current;
    this.#current = undefined;
    await client?.end();
  }

  async #take(): Promise<boolean> {
    const client = await connect(this.#options.url);
    let lost = false;
    client.once('end', () => {
      lost = true;
      if (this.#current === client) void this.#takeAgain();
    });
    try {
      const locked = await tryLock(client, this.#name, this.#options.mode);
      if (lost) throw new Error('the connection was lost');
      if (locked && !this.#released) this.#current = client;
      else await client.end();
      return locked;
    } catch (error) {
      await client.end();
      throw error;
    }
  }

  async #takeAgain(): Promise<void> {
    this.#current = undefined;
    while (!this.#released) {
      try {
        if (!(await this.#take())) this.#onLost();
        return;
      } catch (error) {
        this.#logger.warn({ err: error }, 'server lock connection lost, retrying');
        await delay(RECONNECT_MS);
      }
    }
  }
}
