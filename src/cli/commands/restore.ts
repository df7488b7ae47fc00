import { constants, existsSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { KinoraError } from '../../lib/errors.js';
import { backupFiles, type Manifest } from '../support/backup-format.js';
import { type Command, dataSettings, usageError } from '../support/command.js';
import { restoreDatabase } from '../support/pg-tools.js';
import { print } from '../support/print.js';

const readManifest = async (directory: string): Promise<Manifest> => {
  try {
    return JSON.parse(await readFile(backupFiles(directory).manifest, 'utf8'));
  } catch (cause) {
    throw new KinoraError('unavailable', { messages: [`${directory} is not a complete backup.`], cause });
  }
};

/** Copies a backup to an empty data directory, and its dump to an empty database. */
export const restore: Command = {
  summary: 'restore a backup into a new data directory',
  args: ['<dir>'],
  settings: dataSettings,
  examples: ['kinora restore ./kinora-backup --data-dir ./restored'],
  run: async ({ config, args }) => {
    const { dataDir, databaseUrl } = config;
    const source = resolve(args[0]!);
    const files = backupFiles(source);
    const { database } = await readManifest(source);
    if (database === 'postgres' && databaseUrl === undefined) {
      throw usageError('This backup contains a PostgreSQL dump: set KINORA_DATABASE_URL to an empty database.');
    }
    if (database === 'pglite' && databaseUrl !== undefined) {
      throw usageError('This backup contains the embedded database: restore it without KINORA_DATABASE_URL.');
    }
    if (existsSync(dataDir) && (await readdir(dataDir)).length > 0) {
      throw usageError(`${dataDir} is not empty: set KINORA_DATA_DIR to a new directory.`);
    }
    const incoming = `${dataDir}.restore-${process.pid}`;
    await mkdir(dirname(dataDir), { recursive: true });
    try {
      await mkdir(incoming, { mode: 0o700 });
      await cp(files.data, incoming, { recursive: true, mode: constants.COPYFILE_FICLONE });
      if (databaseUrl !== undefined) await restoreDatabase(databaseUrl, files.dump);
      // In one step, so that a server never finds a partial copy.
      await rename(incoming, dataDir);
    } finally {
      await rm(incoming, { recursive: true, force: true });
    }
    print(`Restored to ${dataDir}.`);
    return 0;
  },
};
