import pg from 'pg';
import { isKinoraError, KinoraError } from '../lib/errors.js';
import { isDatabaseUnavailable } from '../lib/unavailable.js';
import type { Logger } from '../telemetry/logger.js';
import { createPool } from './create-pool.js';
import type { Engine } from './kysely-database.js';
import { CONNECT_TIMEOUT_MS, PostgresListener } from './postgres-listener.js';
import { endSilentConnections } from './silent-connections.js';

const MINIMUM_VERSION = 15;
const POOL_SIZE = 10;
/**
 * A new connection answers its first queries three times as slowly. Below the four minutes after
 * which some networks drop connections.
 */
const IDLE_TIMEOUT_MS = 120_000;

const configInvalid = (message: string, cause?: unknown): KinoraError =>
  new KinoraError('config_invalid', { messages: [message], cause });

const checkServer = async (pool: pg.Pool): Promise<void> => {
  const { rows } = await pool.query<{ version: string; user: string; schema: string | null; may_create: boolean }>(
    `select current_setting('server_version_num') as version, current_user as user, current_schema() as schema,
       coalesce(has_schema_privilege(current_schema(), 'create'), false) as may_create`,
  );
  const { version, user, schema, may_create: mayCreate } = rows[0]!;
  const major = Math.floor(Number(version) / 10_000);
  if (major < MINIMUM_VERSION)
    throw configInvalid(
      `The database server is PostgreSQL ${major}; Kinora needs version ${MINIMUM_VERSION} or newer.`,
    );
  if (!mayCreate)
    throw configInvalid(
      `The user ${user} can't create tables in the database: make it the owner of the database, or run: grant usage, create on schema ${schema ?? 'public'} to "${user}".`,
    );
};

/**
 * Says in one sentence what to change when the server refuses the first connection or can't be
 * reached.
 */
const explainRefusal = (cause: unknown, url: string): KinoraError => {
  // Not connected: it says where the driver finds the server, without the password.
  const { host, port, user, database } = new pg.Client({ connectionString: url });
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  const server = `The database server at ${host}:${port}`;
  if (isDatabaseUnavailable(cause)) {
    // An error that stands for several, one for each address, has no message.
    const reason = (cause as Error).message || code;
    const messages = [`${server} can't be used now (${reason}): start it, or correct KINORA_DATABASE_URL.`];
    return new KinoraError('unavailable', { messages });
  }
  switch (code) {
    case '3D000':
      return configInvalid(`${server} has no database "${database}": create it, or correct KINORA_DATABASE_URL.`);
    case '28P01':
      return configInvalid(
        `${server} rejects the password or does not know the user "${user}": correct KINORA_DATABASE_URL, or the user.`,
      );
    default:
      return configInvalid(
        `${server} refuses the user "${user}": correct KINORA_DATABASE_URL, or what the server allows.`,
        cause,
      );
  }
};

/** An external PostgreSQL server. */
export class PostgresEngine implements Engine {
  readonly name = 'postgres';
  readonly pool: pg.Pool;
  readonly #listener: PostgresListener;
  readonly #endWatch: () => void;

  /**
   * @throws KinoraError `config_invalid` when it refuses the user or is not suitable, `unavailable`
   * when it can't be reached
   */
  static async open(url: string, logger: Logger): Promise<PostgresEngine> {
    const pool = createPool(
      {
        connectionString: url,
        max: POOL_SIZE,
        connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
        idleTimeoutMillis: IDLE_TIMEOUT_MS,
      },
      logger,
    );
    try {
      await checkServer(pool);
    } catch (error) {
      await pool.end();
      throw isKinoraError(error) ? error : explainRefusal(error, url);
    }
    return new PostgresEngine(pool, url, logger);
  }

  private constructor(pool: pg.Pool, url: string, logger: Logger) {
    const listener = new PostgresListener(url, logger);
    this.pool = pool;
    this.#listener = listener;
    this.#endWatch = endSilentConnections(pool, { url, logger, onSilent: () => listener.renew() });
  }

  listen(...of: Parameters<PostgresListener['listen']>): ReturnType<PostgresListener['listen']> {
    return this.#listener.listen(...of);
  }

  async beforeClose(): Promise<void> {
    this.#endWatch();
    await this.#listener.close();
  }

  async afterClose(): Promise<void> {}
}
