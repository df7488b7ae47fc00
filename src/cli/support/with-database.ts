import { existsSync } from 'node:fs';
import { DataDirLock } from '../../db/data-dir-lock.js';
import type { Database } from '../../db/database.js';
import { KinoraError } from '../../lib/errors.js';
import type { CommandContext } from './command.js';

/**
 * Runs `work` while nothing else uses the data directory.
 * @throws KinoraError `data_dir_in_use`
 */
export const withDataDirLock = async <T>(dataDir: string, task: () => Promise<T>): Promise<T> => {
  if (!existsSync(dataDir)) {
    throw new KinoraError('unavailable', {
      messages: [`There is no data directory at ${dataDir}. Start the server once, or set KINORA_DATA_DIR.`],
    });
  }
  // Without the lock, another process may write: exiting immediately is the only safe response.
  const lock = await DataDirLock.acquire(dataDir, () => process.exit(1));
  try {
    return await task();
  } finally {
    await lock.release();
  }
};

/**
 * Runs `work` on the database itself, without a server and without migrations. The embedded
 * database has one user at a time, so this takes the lock of the data directory; PostgreSQL can be
 * shared with running servers.
 * @throws KinoraError `data_dir_in_use`
 */
export const withOpenDatabase = <T>(
  { config }: Pick<CommandContext, 'config'>,
  task: (database: Database) => Promise<T>,
): Promise<T> => {
  const { dataDir, databaseUrl } = config;
  const run = async (): Promise<T> => {
    // Loaded on demand, so that other commands start quickly.
    const { openDatabase } = await import('../../db/open-database.js');
    const { createLogger } = await import('../../telemetry/logger.js');
    const logger = createLogger(config.logLevel, config.logFormat);
    const database = await openDatabase({ dataDir, logger, ...(databaseUrl !== undefined && { url: databaseUrl }) });
    try {
      return await task(database);
    } finally {
      await database.close();
    }
  };
  return databaseUrl === undefined ? withDataDirLock(dataDir, run) : run();
};

/** The same after applying migrations. */
export const withDatabase = <T>(
  context: Pick<CommandContext, 'config'>,
  task: (database: Database) => Promise<T>,
): Promise<T> =>
  withOpenDatabase(context, async (database) => {
    const { migrate } = await import('../../db/migrate.js');
    await migrate(database);
    return task(database);
  });
