import { join } from 'node:path';
import { Readable } from 'node:stream';
import pLimit from 'p-limit';
import type { BlobStore } from '../blob-store.js';
import { safePath } from '../disk/safe-path.js';
import { createUnfinishedWrites } from '../disk/unfinished-writes.js';
import { createLocalCopies } from './local-copies.js';
import { createPartUpload, PART_BYTES } from './part-upload.js';
import type { ObjectClient } from './s3-client.js';
import { createSharedWrites } from './shared-writes.js';

export interface S3BlobStoreOptions {
  readonly objects: ObjectClient;
  /** For unfinished writes, and for copies of what media processes read. */
  readonly localDir: string;
  /** The most that copies take on the disk. */
  readonly maxLocalBytes: number;
  /** The size of the parts of shared writes, at least 5 MiB. */
  readonly partBytes?: number;
}

/** 16 MiB of memory each. */
const PARTS_IN_FLIGHT = 4;
const DELETES_IN_FLIGHT = 8;

/**
 * Blobs are objects, named by their keys. An unfinished write is a local file, which is uploaded as it grows; its commit
 * completes the object, and the file becomes the local copy.
 */
export const createS3BlobStore = async ({
  objects,
  localDir,
  maxLocalBytes,
  partBytes = PART_BYTES,
}: S3BlobStoreOptions): Promise<BlobStore> => {
  const copies = await createLocalCopies({ objects, dir: join(localDir, '.copies'), maxBytes: maxLocalBytes });
  const limit = pLimit(PARTS_IN_FLIGHT);
  const deletes = pLimit(DELETES_IN_FLIGHT);
  const shared = await createSharedWrites({ objects, copies, dir: join(localDir, '.shared'), partBytes, limit });
  const unfinished = createUnfinishedWrites(localDir, (key, path) => {
    const upload = createPartUpload({ objects, key, path, limit });
    return {
      onStored: upload.stored,
      settle: upload.settle,
      publish: async () => copies.adopt(key, path, await upload.finish()),
      onEnd: upload.abort,
    };
  });
  /** @throws KinoraError `internal_error` */
  const checked = (key: string): string => {
    safePath(localDir, key);
    return key;
  };

  return {
    isLocal: false,
    resumeWrite: async (key) => unfinished.open(checked(key), { resumes: true }),
    put: async (key, bytes) => {
      await objects.put(checked(key), bytes);
      await copies.forget((other) => other === key);
    },
    read: async (key, range = { start: 0 }) => {
      const object = await objects.open(checked(key), range);
      return object && Readable.from(object.chunks, { objectMode: false });
    },
    stat: async (key) => {
      const info = await objects.stat(checked(key));
      return info && { sizeBytes: info.sizeBytes };
    },
    delete: async (key) => {
      await objects.delete(checked(key));
      await copies.forget((other) => other === key);
    },
    deletePrefix: async (prefix) => {
      const start = `${checked(prefix)}/`;
      await unfinished.discard(prefix);
      await shared.forget(start);
      for (const { key, uploadId } of await objects.listParts(start)) await objects.abortParts(key, uploadId);
      const keys: string[] = [];
      for await (const { key } of objects.list(start)) keys.push(key);
      await Promise.all(keys.map((key) => deletes(() => objects.delete(key))));
      await copies.forget((key) => key.startsWith(start));
    },
    discardUnfinished: (prefix) => unfinished.discard(prefix),
    resumeShared: async (key, journal) => shared.resume(checked(key), journal),
    discardShared: async (key) => shared.discard(checked(key)),
    sweepUnfinished: (needed) => unfinished.sweep(needed),
    openLocal: async (key, needed) => copies.open(checked(key), needed),
  };
};
