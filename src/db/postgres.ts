import pg from 'pg';
import { isDatabaseUnavailable } from '../lib/database-unavailable.js';
import { isKinoraError, KinoraError } from '../lib/errors.js';
import type { Logger } from '../telemetry/logger.js';
import { createPool } from './create-pool.js';
import type { Database } from './database.js';
import { createDatabase } from './kysely-database.js';
import { endSilentConnections } from './silent-connections.js';

const MINIMUM_VERSION = 15;
const POOL_SIZE = 10;
const RECONNECT_MS = 1_000;
/** Also for waiting until a connection of the pool is free. */
const CONNECT_TIMEOUT_MS = 15_000;

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

/** Says in one sentence what to change when the server refuses the first connection or can't be reached. */
const explainRefusal = (cause: unknown, url: string): KinoraError => {
  // Not connected: it says where the driver finds the server, without the password.
  const { host, port, user, database } = new pg.Client({ connectionString: url });
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  const place = `The database server at ${host}:${port}`;
  if (isDatabaseUnavailable(cause)) {
    // An error that stands for several, one for each address, has no message.
    const reason = (cause as Error).message || code;
    const messages = [`${place} can't be used now (${reason}): start it, or correct KINORA_DATABASE_URL.`];
    return new KinoraError('unavailable', { messages });
  }
  switch (code) {
    case '3D000':
      return configInvalid(`${place} has no database "${database}": create it, or correct KINORA_DATABASE_URL.`);
    case '28P01':
      return configInvalid(
        `${place} rejects the password or does not know the user "${user}": correct KINORA_DATABASE_URL, or the user.`,
      );
    default:
      return configInvalid(
        `${place} refuses the user "${user}": correct KINORA_DATABASE_URL, or what the server allows.`,
        cause,
      );
  }
};

/** Keeps a dedicated connection for LISTEN, because pooled connections are shared, and reconnects when it is lost. */
const createListener = (url: string, logger: Logger) => {
  const handlers = new Map<string, Set<(payload: string) => void>>();
  const whenMissed = new Set<() => void>();
  let connected: Promise<pg.Client> | undefined;
  let retry: NodeJS.Timeout | undefined;
  let closing = false;

  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client({
      connectionString: url,
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    });
    client.on('notification', ({ channel, payload }) => {
      for (const handler of handlers.get(channel) ?? []) handler(payload ?? '');
    });
    client.on('error', (error) => logger.warn({ err: error }, 'notification connection lost'));
    await client.connect();
    try {
      for (const channel of handlers.keys()) await client.query(`listen "${channel}"`);
    } catch (error) {
      await client.end();
      throw error;
    }
    client.on('end', () => {
      connected = undefined;
      reconnect();
    });
    return client;
  };
  const connection = (): Promise<pg.Client> => {
    connected ??= connect().catch((error) => {
      connected = undefined;
      throw error;
    });
    return connected;
  };
  const reconnect = (): void => {
    if (closing || retry) return;
    retry = setTimeout(() => {
      retry = undefined;
      connection().then(
        () => {
          for (const tell of whenMissed) tell();
        },
        (error) => {
          logger.warn({ err: error }, 'notification connection failed');
          reconnect();
        },
      );
    }, RECONNECT_MS);
  };

  return {
    listen: async (
      channel: string,
      handler: (payload: string) => void,
      onMissed: () => void = () => undefined,
    ): Promise<() => Promise<void>> => {
      const known = handlers.get(channel) ?? new Set();
      handlers.set(channel, known.add(handler));
      whenMissed.add(onMissed);
      const stop = (): void => {
        known.delete(handler);
        if (known.size === 0 && handlers.get(channel) === known) handlers.delete(channel);
        whenMissed.delete(onMissed);
      };
      try {
        // Also for a channel with a handler: its own LISTEN may fail yet.
        await (await connection()).query(`listen "${channel}"`);
      } catch (error) {
        stop();
        throw error;
      }
      return async () => stop();
    },
    /** Connects again, because the connection may be dead. */
    renew: (): void => {
      connected?.then(
        (client) => client.end(),
        () => undefined,
      );
    },
    close: async (): Promise<void> => {
      closing = true;
      clearTimeout(retry);
      // A connection that failed to open does not need to be ended.
      await connected?.then(
        (client) => client.end(),
        () => undefined,
      );
    },
  };
};

/**
 * An external PostgreSQL server.
 * @throws KinoraError `config_invalid` when it refuses the user or is not suitable, `unavailable` when it can't be reached
 */
export const openPostgres = async (url: string, logger: Logger): Promise<Database> => {
  const pool = createPool(
    { connectionString: url, max: POOL_SIZE, connectionTimeoutMillis: CONNECT_TIMEOUT_MS },
    logger,
  );
  try {
    await checkServer(pool);
  } catch (error) {
    await pool.end();
    throw isKinoraError(error) ? error : explainRefusal(error, url);
  }
  const listener = createListener(url, logger);
  const endWatch = endSilentConnections(pool, { url, logger, onSilent: listener.renew });
  return createDatabase({
    engine: 'postgres',
    pool,
    listen: listener.listen,
    beforeClose: async () => {
      endWatch();
      await listener.close();
    },
    afterClose: async () => {},
  });
};
