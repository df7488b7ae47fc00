import { readdir, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Config } from '../../config/options.js';
import { openBucket, s3SettingsOf } from '../../server/open-blobs.js';
import { ASSETS_PREFIX, isSourceKey } from '../../storage/keys.js';

/**
 * What is stored for all assets, in bytes. Sources that stay in buckets of their own are not part
 * of it.
 */
export interface StoredSize {
  readonly stored_bytes: number;
  /** The files from which assets were created. */
  readonly source_bytes: number;
}

interface Blob {
  readonly key: string;
  readonly sizeBytes: number;
}

async function* blobsOnDisk(root: string): AsyncIterable<Blob> {
  const entries = await readdir(join(root, ASSETS_PREFIX), { recursive: true, withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    // The server may have deleted it.
    const stats = await stat(path).catch(() => undefined);
    if (stats) yield { key: relative(root, path), sizeBytes: stats.size };
  }
}

const add = async (blobs: AsyncIterable<Blob>): Promise<StoredSize> => {
  const size = { stored_bytes: 0, source_bytes: 0 };
  for await (const { key, sizeBytes } of blobs) {
    size.stored_bytes += sizeBytes;
    if (isSourceKey(key)) size.source_bytes += sizeBytes;
  }
  return size;
};

/**
 * Reads the size of every blob: with S3, a request for each thousand.
 * @throws KinoraError `config_invalid`, `unavailable` when the bucket can't be used
 */
export const storedSize = async (config: Config): Promise<StoredSize> => {
  const settings = s3SettingsOf(config);
  if (!settings) return add(blobsOnDisk(join(config.dataDir, 'blobs')));
  const objects = await openBucket(settings);
  try {
    return await add(objects.list(ASSETS_PREFIX));
  } finally {
    objects.close();
  }
};
