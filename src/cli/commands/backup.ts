import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { connectControl } from '../../control/control-client.js';
import { isSnapshot } from '../../control/snapshot-name.js';
import { systemClock } from '../../lib/clock.js';
import { backupFiles, type Manifest } from '../support/backup-format.js';
import { type Command, type CommandContext, dataSettings, usageError } from '../support/command.js';
import { copyTree } from '../support/copy-tree.js';
import { dumpDatabase } from '../support/pg-tools.js';
import { print } from '../support/print.js';
import { withDataDirLock } from '../support/with-database.js';

/** What the server can make again. */
const isTransient = (path: string): boolean => path === 'cache' || path === 'lock' || isSnapshot(path);
/**
 * Unfinished downloads and uploads require the database of exactly the same moment; without their files they start
 * again.
 */
const UNFINISHED = join('blobs', '.partial');

/** Sources are renamed once, when they are complete, so they can be copied while a server runs. */
const copyBesideServer = (dataDir: string, target: string, skip: (path: string) => boolean): Promise<void> =>
  copyTree(dataDir, target, {
    skip: (path) => isTransient(path) || path === UNFINISHED || skip(path),
    mayShrink: true,
  });

/** The database comes first, so that every file that it refers to exists when the files are copied. */
const copyInstallation = async (
  { dataDir, databaseUrl }: CommandContext['config'],
  files: ReturnType<typeof backupFiles>,
): Promise<void> => {
  if (databaseUrl !== undefined) {
    await mkdir(files.data, { recursive: true, mode: 0o700 });
    await dumpDatabase(databaseUrl, files.dump);
    return copyBesideServer(dataDir, files.data, () => false);
  }
  const server = await connectControl(dataDir);
  if (!server) return withDataDirLock(dataDir, () => copyTree(dataDir, files.data, { skip: isTransient }));
  try {
    const { directory } = (await server.call('snapshot', {})) as { directory: string };
    await copyTree(directory, join(files.data, 'db'));
  } finally {
    server.close();
  }
  await copyBesideServer(dataDir, files.data, (path) => path === 'db');
};

/** Copies everything of an installation to plain files, whether a server runs or not. */
export const backup: Command = {
  summary: 'copy the database, sources and secrets to a new directory',
  args: ['<dir>'],
  settings: dataSettings,
  examples: ['kinora backup ./kinora-backup'],
  run: async ({ config, args }) => {
    const { dataDir, databaseUrl } = config;
    const target = resolve(args[0]!);
    if (!relative(dataDir, target).startsWith('..'))
      throw usageError('The backup must not be inside the data directory.');
    const isNew = !existsSync(target);
    if (!isNew && (await readdir(target)).length > 0) throw usageError(`${target} is not empty.`);
    const files = backupFiles(target);
    const manifest: Manifest = {
      format: 1,
      database: databaseUrl === undefined ? 'pglite' : 'postgres',
      created_at: systemClock.now().toISOString(),
    };
    try {
      await copyInstallation(config, files);
      // Written last, so that an interrupted backup can't be mistaken for a complete one.
      await writeFile(files.manifest, `${JSON.stringify(manifest, null, 2)}\n`);
    } catch (error) {
      // The remains of a failed backup would block the next one.
      for (const path of isNew ? [target] : Object.values(files)) await rm(path, { recursive: true, force: true });
      throw error;
    }
    print(`Saved to ${target}. The backup contains all secrets of this installation: keep it safe.`);
    return 0;
  },
};
