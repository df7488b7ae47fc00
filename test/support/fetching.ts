import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '#kinora/lib/clock.js';
import type { FetchOptions } from '#kinora/net/fetch-source.js';
import { SourceClient, type SourceClientOptions } from '#kinora/net/source-client.js';
import { DiskBlobStore } from '#kinora/storage/disk/disk-blob-store.js';
import { memoryLogger } from './memory-logger.js';

export const KEY = 'assets/a/source';

/** A fetcher that may reach this host, with a store to fetch into. */
export const startFetching = (overrides: Partial<SourceClientOptions> = {}) => {
  const root = mkdtempSync(join(tmpdir(), 'kinora-fetch-'));
  const store = new DiskBlobStore(root);
  const logger = memoryLogger();
  const fetcher = new SourceClient({
    allowPrivate: true,
    maxBytes: 64 * 2 ** 20,
    userAgent: 'Kinora/test',
    clock: systemClock,
    logger,
    retryDelayMs: 10,
    ...overrides,
  });
  return {
    store,
    fetcher,
    logger,
    fetch: async (url: string, options: FetchOptions = {}) => fetcher.fetch(url, await store.resumeWrite(KEY), options),
    stored: async (): Promise<Buffer | undefined> => {
      const stream = await store.read(KEY);
      return stream === undefined ? undefined : Buffer.concat(await stream.toArray());
    },
    stop: () => rmSync(root, { recursive: true, force: true }),
  };
};
