import { constants, existsSync } from 'node:fs';
import { cp, mkdir, readdir, writeFile } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { systemClock } from '../lib/clock.js';
import { backupFiles, type Manifest } from './backup-format.js';
import { type Command, print, usageError } from './command.js';
import { dumpDatabase } from './pg-tools.js';
import { withDataDirLock } from './with-database.js';

/** What the server makes again by itself. */
const transient = new Set(['cache', 'lock']);

const copyDataDir = (dataDir: string, target: string): Promise<void> =>
  cp(dataDir, target, {
    recursive: true,
    // Shares blocks where the file system can.
    mode: constants.COPYFILE_FICLONE,
    filter: (path) => !transient.has(relative(dataDir, path)),
  });

/**
 * Everything of an installation as plain files. The embedded database is copied while nobody uses it; beside PostgreSQL the
 * dump comes first, so that every file it speaks of is there when the files are copied.
 */
export const backup: Command = {
  summary: 'copies database, sources and secrets to a new directory',
  args: ['<dir>'],
  run: async ({ config, args }) => {
    const { dataDir, databaseUrl } = config;
    const target = resolve(args[0]!);
    if (!relative(dataDir, target).startsWith('..'))
      throw usageError('The backup must not lie inside the data directory.');
    if (existsSync(target) && (await readdir(target)).length > 0) throw usageError(`${target} is not empty.`);
    const files = backupFiles(target);
    await mkdir(files.data, { recursive: true, mode: 0o700 });
    if (databaseUrl === undefined) {
      await withDataDirLock(dataDir, () => copyDataDir(dataDir, files.data));
    } else {
      await dumpDatabase(databaseUrl, files.dump);
      await copyDataDir(dataDir, files.data);
    }
    const manifest: Manifest = {
      format: 1,
      database: databaseUrl === undefined ? 'pglite' : 'postgres',
      created_at: systemClock.now().toISOString(),
    };
    // Last, so that an interrupted backup can't be taken for a whole one.
    await writeFile(files.manifest, `${JSON.stringify(manifest, null, 2)}\n`);
    print(`Saved to ${target}. It holds every secret of this installation: keep it safe.`);
    return 0;
  },
};
