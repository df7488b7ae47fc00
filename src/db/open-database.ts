import { join } from 'node:path';
import type { Logger } from '../telemetry/logger.js';
import type { Database } from './database.js';
import { KyselyDatabase } from './kysely-database.js';
import { PgliteEngine } from './pglite-engine.js';
import { PostgresEngine } from './postgres-engine.js';

interface OpenDatabaseOptions {
  /** A `postgres://` URL; if absent, the embedded database in `<dataDir>/db` is used. */
  readonly url?: string;
  readonly dataDir: string;
  readonly logger: Logger;
}

/**
 * Opens the database without changing its tables; call `migrate` next. The caller must hold the
 * lock of `dataDir`.
 * @throws KinoraError `config_invalid` when the server refuses the user, or the version of the
 * server or the directory is not supported; `unavailable` when the server can't be reached
 */
export const openDatabase = async ({ url, dataDir, logger }: OpenDatabaseOptions): Promise<Database> =>
  new KyselyDatabase(
    url === undefined ? await PgliteEngine.open(join(dataDir, 'db'), logger) : await PostgresEngine.open(url, logger),
  );
