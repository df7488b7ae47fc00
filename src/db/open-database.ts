import { join } from 'node:path';
import type { Logger } from '../telemetry/logger.js';
import type { Database } from './database.js';
import { openPglite } from './pglite.js';
import { openPostgres } from './postgres.js';

interface OpenDatabaseOptions {
  /** A `postgres://` URL; the embedded database in `<dataDir>/db` when absent. */
  readonly url?: string;
  readonly dataDir: string;
  readonly logger: Logger;
}

/**
 * Opens the database without touching its tables; `migrate` comes next. The caller holds the lock of `dataDir`.
 * @throws KinoraError `config_invalid` when the server or the directory has a version that cannot be used
 */
export const openDatabase = ({ url, dataDir, logger }: OpenDatabaseOptions): Promise<Database> =>
  url === undefined ? openPglite(join(dataDir, 'db'), logger) : openPostgres(url, logger);
