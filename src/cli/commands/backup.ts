import { existsSync } from 'node:fs';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { ControlConnection } from '../../control/control-client.js';
import { isSnapshot } from '../../control/snapshot-name.js';
import { systemClock } from '../../lib/clock.js';
import { makeDirectory } from '../../lib/make-directory.js';
import { openBucket, s3SettingsOf } from '../../server/open-blobs.js';
import { ASSETS_PREFIX } from '../../storage/keys.js';
import { describeBucket } from '../../storage/s3/check-bucket.js';
import type { S3Settings } from '../../storage/s3/object-client.js';
import { backupFiles, type Manifest } from '../support/backup-format.js';
import { blobSettings, type Command, type CommandContext, dataSettings, usageError } from '../support/command.js';
import { copyTree } from '../support/copy-tree.js';
import { dumpDatabase } from '../support/pg-tools.js';
import { print } from '../support/print.js';
import { withDataDirLock } from '../support/with-database.js';

/** What the server can make again. */
const isTransient = (path: string): boolean => path === 'cache' || path === 'lock' || isSnapshot(path);
/**
 * Unfinished downloads and uploads require the database of exactly the same moment; without their
 * files they start again.
 */
const UNFINISHED = join('blobs', '.partial');
/** Copies of what is in S3. */
const COPIES: ReadonlySet<string> = new Set([join('blobs', '.copies'), join('blobs', '.linked')]);

/** Sources are renamed once, when they are complete, so they can be copied while a server runs. */
const copyBesideServer = (dataDir: string, target: string, skip: (path: string) => boolean): Promise<void> =>
  copyTree(dataDir, target, {
    skip: (path) => isTransient(path) || path === UNFINISHED || COPIES.has(path) || skip(path),
    mayShrink: true,
  });

const isDatabaseOrToken = (path: string): boolean => /^(db|token)($|\/)/.test(path);

/**
 * The database comes first, so that every file that it refers to exists when the files are copied.
 */
const copyInstallation = async (
  { dataDir, databaseUrl }: CommandContext['config'],
  files: ReturnType<typeof backupFiles>,
  isLeftOut: (path: string) => boolean,
): Promise<void> => {
  if (databaseUrl !== undefined) {
    await makeDirectory(files.data, 0o700);
    await dumpDatabase(databaseUrl, files.dump);
    return copyBesideServer(dataDir, files.data, isLeftOut);
  }
  const server = await ControlConnection.open(dataDir);
  if (!server)
    return withDataDirLock(dataDir, () =>
      copyTree(dataDir, files.data, { skip: (path) => isTransient(path) || COPIES.has(path) || isLeftOut(path) }),
    );
  try {
    const { directory } = (await server.call('snapshot', {})) as { directory: string };
    await copyTree(directory, join(files.data, 'db'));
  } finally {
    server.close();
  }
  await copyBesideServer(dataDir, files.data, (path) => path === 'db' || isLeftOut(path));
};

/** Writes size and key of every object. */
const listObjects = async (settings: S3Settings, path: string): Promise<void> => {
  const objects = await openBucket(settings);
  try {
    const lines = async function* () {
      for await (const { key, sizeBytes } of objects.list(ASSETS_PREFIX)) yield `${sizeBytes}\t${key}\n`;
    };
    await writeFile(path, lines(), { mode: 0o600 });
  } finally {
    objects.close();
  }
};

/** Copies everything of an installation to plain files, whether a server runs or not. */
export const backup: Command = {
  summary: 'copy the database, sources and secrets to a new directory',
  args: ['<dir>'],
  flags: { '--database-only': 'leave out videos and everything else but the database and the token file' },
  settings: [...dataSettings, ...blobSettings],
  examples: ['kinora backup ./kinora-backup', 'kinora backup ./kinora-database --database-only'],
  run: async ({ config, args, flags }) => {
    const { dataDir, databaseUrl } = config;
    const target = resolve(args[0]!);
    if (!relative(dataDir, target).startsWith('..'))
      throw usageError('The backup must not be inside the data directory.');
    const isNew = !existsSync(target);
    if (!isNew && (await readdir(target)).length > 0) throw usageError(`${target} is not empty.`);
    const files = backupFiles(target);
    const bucket = s3SettingsOf(config);
    const manifest: Manifest = {
      format: 1,
      database: databaseUrl === undefined ? 'pglite' : 'postgres',
      created_at: systemClock.now().toISOString(),
      ...(bucket && { bucket: describeBucket(bucket) }),
      ...(flags['--database-only'] && { database_only: true }),
    };
    try {
      await copyInstallation(config, files, (path) => flags['--database-only'] === true && !isDatabaseOrToken(path));
      // After the database: every object that it refers to is listed.
      if (bucket) await listObjects(bucket, files.objects);
      // Written last, so that an interrupted backup can't be mistaken for a complete one.
      await writeFile(files.manifest, `${JSON.stringify(manifest, null, 2)}\n`);
    } catch (error) {
      // The remains of a failed backup would block the next one.
      for (const path of isNew ? [target] : Object.values(files)) await rm(path, { recursive: true, force: true });
      throw error;
    }
    if (bucket)
      print(
        `The backup lists the objects in ${describeBucket(bucket)} but does not contain them: keep versions or a copy of the bucket.`,
      );
    print(`Saved to ${target}. The backup contains all secrets of this installation: keep it safe.`);
    return 0;
  },
};
