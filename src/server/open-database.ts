import type { Config } from '../config/options.js';
import type { Database } from '../db/database.js';
import { migrate } from '../db/migrate.js';
import { openDatabase } from '../db/open-database.js';
import { ServerLock } from '../db/server-lock.js';
import { keepBlobUrl } from '../db/tables/server/installation.js';
import { hasLiveNode } from '../db/tables/server/node.js';
import { bootstrap } from '../domain/access/bootstrap.js';
import { keepConfiguredWebhook } from '../domain/webhooks/configured-webhook.js';
import { KinoraError } from '../lib/errors.js';
import { LIVE_SECONDS } from '../nodes/membership.js';
import type { Base } from './parts.js';

/**
 * Starts opening the database. A failure is thrown where the database is first needed, unless
 * something else fails before.
 */
export const beginDatabase = ({ config, logger, phases }: Base): Promise<Database> => {
  const opening = openDatabase({
    dataDir: config.dataDir,
    logger,
    url: config.databaseUrl,
  });
  phases.push({ name: 'database', end: async () => (await opening.catch(() => undefined))?.close() });
  opening.catch(() => undefined);
  return opening;
};

/**
 * Servers that share a database need the same bucket, or they would not find each other's files.
 * @throws KinoraError `config_invalid`
 */
const keepBlobPlaceOf = async ({ blobs, databaseUrl }: Config, database: Database): Promise<void> => {
  if (!databaseUrl || blobs === 'file') return;
  const url = `s3://${blobs.bucket}/${blobs.prefix}`;
  const stored = await keepBlobUrl(database.queryable, url);
  if (stored === url) return;
  const message = `The blobs of this database are in ${stored}, not in ${url}: set KINORA_BLOBS to it. If they were copied to another place, stop all servers and run: update installation set blobs = null`;
  throw new KinoraError('config_invalid', { messages: [message] });
};

/** Updates the database to this version and adds what the configuration requires in it. */
export const prepareDatabase = async (
  { config, logger, clock, phases }: Base,
  database: Database,
): ReturnType<typeof bootstrap> => {
  if (config.databaseUrl) {
    const mode = config.blobs === 'file' ? 'alone' : 'shared';
    const serverLock = await ServerLock.acquire({ url: config.databaseUrl, mode }, logger, () => {
      logger.error({}, 'database in use by another server');
      process.kill(process.pid, 'SIGKILL');
    });
    phases.push({ name: 'server lock', end: () => serverLock.release() });
  }
  await migrate(database);
  const { token } = config;
  const first = await bootstrap(
    database,
    { dataDir: config.dataDir, videoQuality: config.defaultVideoQuality, token },
    clock,
  );
  await keepBlobPlaceOf(config, database);
  const hasOthers = await hasLiveNode(database.queryable, LIVE_SECONDS);
  const webhook = { url: config.webhookUrl, secret: config.webhookSecret, hasOthers };
  if (!(await keepConfiguredWebhook(database, webhook, clock)))
    logger.warn({}, 'KINORA_WEBHOOK_URL is not set here, but other servers run and one had it: its webhook stays');
  return first;
};
