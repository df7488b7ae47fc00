import type { Database } from '../db/database.js';
import { migrate } from '../db/migrate.js';
import { openDatabase } from '../db/open-database.js';
import { acquireServerLock } from '../db/server-lock.js';
import { bootstrap } from '../domain/access/bootstrap.js';
import { keepConfiguredWebhook } from '../domain/webhooks/configured-webhook.js';
import type { Base } from './parts.js';

/**
 * Starts opening the database. A failure is thrown where the database is first needed, unless something else fails
 * before.
 */
export const beginDatabase = ({ config, logger, phases }: Base): Promise<Database> => {
  const opening = openDatabase({
    dataDir: config.dataDir,
    logger,
    ...(config.databaseUrl && { url: config.databaseUrl }),
  });
  phases.push({ name: 'database', end: async () => (await opening.catch(() => undefined))?.close() });
  opening.catch(() => undefined);
  return opening;
};

/** Updates the database to this version and adds what the configuration requires in it. */
export const prepareDatabase = async (
  { config, logger, clock, phases }: Base,
  database: Database,
): ReturnType<typeof bootstrap> => {
  if (config.databaseUrl) {
    const serverLock = await acquireServerLock(config.databaseUrl, logger, () => {
      logger.error({}, 'database in use by another server');
      process.kill(process.pid, 'SIGKILL');
    });
    phases.push({ name: 'server lock', end: () => serverLock.release() });
  }
  await migrate(database);
  const { token } = config;
  const first = await bootstrap(
    database,
    { dataDir: config.dataDir, videoQuality: config.defaultVideoQuality, ...(token && { token }) },
    clock,
  );
  await keepConfiguredWebhook(database, { url: config.webhookUrl, secret: config.webhookSecret }, clock);
  return first;
};
