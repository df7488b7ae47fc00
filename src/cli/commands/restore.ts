import { constants, existsSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { KinoraError } from '../../lib/errors.js';
import { makeDirectory } from '../../lib/make-directory.js';
import { openBucket, s3SettingsOf } from '../../server/open-blobs.js';
import { ASSETS_PREFIX } from '../../storage/keys.js';
import { describeBucket } from '../../storage/s3/check-bucket.js';
import type { S3Settings } from '../../storage/s3/object-client.js';
import { backupFiles, type Manifest } from '../support/backup-format.js';
import { blobSettings, type Command, dataSettings, usageError } from '../support/command.js';
import { restoreDatabase } from '../support/pg-tools.js';
import { print } from '../support/print.js';
import { withDataDirLock } from '../support/with-database.js';

const readManifest = async (directory: string): Promise<Manifest> => {
  try {
    return JSON.parse(await readFile(backupFiles(directory).manifest, 'utf8'));
  } catch (cause) {
    throw new KinoraError('unavailable', { messages: [`${directory} is not a complete backup.`], cause });
  }
};

/**
 * Moves database and token beside the blobs that are there. After an interruption, the database is
 * still missing.
 */
const moveInto = (incoming: string, dataDir: string): Promise<void> =>
  withDataDirLock(dataDir, async () => {
    const names = await readdir(incoming);
    for (const name of [...names.filter((other) => other !== 'db'), ...names.filter((other) => other === 'db')])
      await rename(join(incoming, name), join(dataDir, name));
  });

const MAX_NAMED = 10;

/** Says which objects of the backup are no longer in the bucket. */
const reportMissing = async (settings: S3Settings, path: string): Promise<void> => {
  const objects = await openBucket(settings);
  try {
    const sizes = new Map<string, number>();
    for await (const { key, sizeBytes } of objects.list(ASSETS_PREFIX)) sizes.set(key, sizeBytes);
    const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '');
    const missing = lines
      .map((line) => line.split('\t') as [string, string])
      .filter(([sizeBytes, key]) => sizes.get(key) !== Number(sizeBytes));
    if (missing.length === 0) return print(`All ${lines.length} objects are in ${describeBucket(settings)}.`);
    print(`${missing.length} of ${lines.length} objects are missing in ${describeBucket(settings)} or differ in size:`);
    for (const [, key] of missing.slice(0, MAX_NAMED)) print(`  ${key}`);
    if (missing.length > MAX_NAMED) print(`  and ${missing.length - MAX_NAMED} more of ${path}`);
    print('Restore them from the versions or the copy of the bucket; their assets do not play until then.');
  } finally {
    objects.close();
  }
};

/** Copies a backup to an empty data directory, and its dump to an empty database. */
export const restore: Command = {
  summary: 'restore a backup into a new data directory, or a database beside the videos that are there',
  args: ['<dir>'],
  settings: [...dataSettings, ...blobSettings],
  examples: ['kinora restore ./kinora-backup --data-dir ./restored'],
  run: async ({ config, args }) => {
    const { dataDir, databaseUrl } = config;
    const source = resolve(args[0]!);
    const files = backupFiles(source);
    const { database, bucket: bucketPath, database_only: isDatabaseOnly } = await readManifest(source);
    const bucket = s3SettingsOf(config);
    if (database === 'postgres' && databaseUrl === undefined) {
      throw usageError('This backup contains a PostgreSQL dump: set KINORA_DATABASE_URL to an empty database.');
    }
    if (database === 'pglite' && databaseUrl !== undefined) {
      throw usageError('This backup contains the embedded database: restore it without KINORA_DATABASE_URL.');
    }
    if (bucketPath !== undefined && !bucket) {
      throw usageError(`The blobs of this backup are in ${bucketPath}: set KINORA_BLOBS and the settings of S3.`);
    }
    if (bucketPath === undefined && bucket) {
      throw usageError('This backup contains its blobs: restore it without KINORA_BLOBS.');
    }
    if (isDatabaseOnly && existsSync(join(dataDir, 'db'))) {
      throw usageError(`${dataDir} has a database: move ${join(dataDir, 'db')} away, or set KINORA_DATA_DIR.`);
    }
    if (!isDatabaseOnly && existsSync(dataDir) && (await readdir(dataDir)).length > 0) {
      throw usageError(`${dataDir} is not empty: set KINORA_DATA_DIR to a new directory.`);
    }
    const incoming = `${dataDir}.restore-${process.pid}`;
    await makeDirectory(dirname(dataDir));
    try {
      await mkdir(incoming, { mode: 0o700 });
      await cp(files.data, incoming, { recursive: true, mode: constants.COPYFILE_FICLONE });
      if (databaseUrl !== undefined) await restoreDatabase(databaseUrl, files.dump);
      if (isDatabaseOnly && existsSync(dataDir)) await moveInto(incoming, dataDir);
      // In one step, so that a server never finds a partial copy.
      else await rename(incoming, dataDir);
    } finally {
      await rm(incoming, { recursive: true, force: true });
    }
    print(`Restored to ${dataDir}.`);
    if (bucket) await reportMissing(bucket, files.objects);
    return 0;
  },
};
