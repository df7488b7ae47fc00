import { readdir, rm, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseStoredName } from './cache-key.js';

export interface ScannedFile {
  readonly path: string;
  readonly digest: string;
  readonly sizeBytes: number;
  readonly lastUsedMs: number;
}

/**
 * Reads what an earlier run left in the cache directory, least recently used first. Removes empty
 * files, files with unknown names, the older of two files of one key, and directories that eviction
 * has emptied.
 */
export const scanCache = async (dir: string): Promise<ScannedFile[]> => {
  const filesByPath = new Map<string, ScannedFile>();
  const drop = (path: string, digest: string) => rm(join(dir, `${path}~${digest}`), { force: true });

  const visitFile = async (relative: string): Promise<void> => {
    const name = parseStoredName(relative);
    if (!name) return rm(join(dir, relative), { force: true });
    const { size, mtimeMs } = await stat(join(dir, relative));
    if (size === 0) return drop(name.path, name.digest);
    const file = { ...name, sizeBytes: size, lastUsedMs: Math.floor(mtimeMs) };
    const twin = filesByPath.get(name.path);
    if (twin && twin.lastUsedMs >= file.lastUsedMs) return drop(file.path, file.digest);
    filesByPath.set(name.path, file);
    if (twin) await drop(twin.path, twin.digest);
  };

  const visitDirectory = async (relative: string, depth: number): Promise<void> => {
    const entries = await readdir(join(dir, relative), { withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    await Promise.all(files.map((entry) => visitFile(`${relative}/${entry.name}`)));
    for (const entry of entries) {
      if (!entry.isDirectory() || depth >= 4) continue;
      const child = `${relative}/${entry.name}`;
      await visitDirectory(child, depth + 1);
      // This fails for a directory that is not empty, which is the usual case.
      await rmdir(join(dir, child)).catch(() => undefined);
    }
  };

  for (const entry of await readdir(dir, { withFileTypes: true })) {
    // Only directories with two-character names belong to the cache; everything else is left alone.
    if (entry.isDirectory() && entry.name.length === 2) await visitDirectory(entry.name, 1);
  }
  return [...filesByPath.values()].sort((a, b) => a.lastUsedMs - b.lastUsedMs);
};
