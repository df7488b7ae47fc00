import { join } from 'node:path';
import type { Logger } from '../telemetry/logger.js';
import type { Database } from './database.js';
import { openPglite } from './pglite.js';
import { openPostgres } from './postgres.js';

interface OpenDatabaseOptions {
  /** A `postgres://` URL; if absent, the embedded database in `<dataDir>/db` is used. */
  readonly url?: string;
  readonly dataDir: string;
  readonly logger: Logger;
}

/**
 * Opens the database without changing its tables; call `migrate` next. The caller must hold the lock of `dataDir`.
 * @throws KinoraError `config_invalid` when the server refuses the user, or the version of the server or the directory is
 * not supported; `unavailable` when the server can't be reached
 */
export const openDatabase = ({ url, dataDir, logger }: OpenDatabaseOptions): Promise<Database> =>
  url === undefined ? openPglite(join(dataDir, 'db'), logger) : openPostgres(url, logger);
