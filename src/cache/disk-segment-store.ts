import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { KinoraError } from '../lib/errors.js';
import { makeDirectory } from '../lib/make-directory.js';
import { assertSafeKey, assetOf, assetPath, isOfRendition, keyPath } from './cache-path.js';
import { type CachedFilesOptions, openCachedFiles } from './cached-files.js';
import { createProductions } from './productions.js';
import type { GetOptions, SegmentStore } from './segment-store.js';

/** `dir` is used by the cache alone and created if missing. */
export type SegmentStoreOptions = CachedFilesOptions;

/**
 * The segment store on a local disk. Nothing is fsynced, because every file can be made again. Instead, every file
 * name contains the digest of the content, which is checked at the first use after a start. Files that a power loss
 * left empty, short or zeroed are discarded and made again.
 */
export const createSegmentStore = async (options: SegmentStoreOptions): Promise<SegmentStore> => {
  const { dir, maxBytes, logger } = options;
  const temporaryDir = join(dir, 'tmp');
  await makeDirectory(temporaryDir);
  // Removes only its content: the directory itself may already be mounted into the media processes.
  for (const name of await readdir(temporaryDir)) await rm(join(temporaryDir, name), { recursive: true, force: true });

  const files = await openCachedFiles(options);
  const productions = createProductions({ files, dir, temporaryDir, logger });
  let stopped = false;
  logger.info(
    { dir, files: [...files.paths()].length, bytes: files.totalBytes, max_bytes: maxBytes },
    'segment cache opened',
  );

  return {
    async get(key, produce, { signal, covers = [] }: GetOptions = {}) {
      assertSafeKey(key);
      const path = keyPath(key);
      const hit = await files.find(path);
      if (hit) return hit;
      if (stopped) throw new KinoraError('unavailable');
      // Nothing is awaited from here to `wait`, so two callers can't both start a production.
      return (productions.find(path) ?? productions.start(key, produce, covers)).wait(path, signal);
    },
    has: (key) => files.has(keyPath(key)),
    get totalBytes() {
      return files.totalBytes;
    },
    assetIds: () => new Set([...files.paths()].map(assetOf)),
    async removeAsset(assetId, error) {
      const prefix = `${assetPath(assetId)}/`;
      await productions.endRemoved((key) => key.assetId === assetId, error);
      for (const path of [...files.paths()]) if (path.startsWith(prefix)) files.forget(path);
      // Repeated for a file whose request came too late to be ended above.
      await rm(join(dir, assetPath(assetId)), { recursive: true, force: true, maxRetries: 5 });
    },
    async removeRendition(assetId, rendition) {
      await productions.endRemoved((key) => key.assetId === assetId && key.rendition === rendition);
      for (const path of [...files.paths()]) if (isOfRendition(path, assetId, rendition)) await files.discard(path);
    },
    async stop() {
      stopped = true;
      await productions.stop();
      files.stop();
    },
  };
};
