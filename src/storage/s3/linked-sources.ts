import { Readable } from 'node:stream';
import { LRUCache } from 'lru-cache';
import { type BucketObject, type BucketPlace, isInPlace } from '../../lib/bucket-url.js';
import { isKinoraError, KinoraError } from '../../lib/errors.js';
import type { Logger } from '../../telemetry/logger.js';
import { type BlobStore, LINKED_SOURCE, type LinkedSources, readBlob, type SourceLink } from '../blob-store.js';
import { isSourceKey, sourceLinkKey } from '../keys.js';
import { createLocalCopies } from './local-copies.js';
import type { ObjectClient } from './s3-client.js';

interface LinkedSourcesOptions {
  readonly blobs: BlobStore;
  /** The only places whose objects are opened, whatever asks for them. */
  readonly places: readonly BucketPlace[];
  readonly clientOf: (bucket: string) => Promise<Pick<ObjectClient, 'stat' | 'open'>>;
  /** For parts of linked sources. */
  readonly dir: string;
  readonly maxLocalBytes: number;
  readonly logger: Logger;
}

const MAX_LINKS = 10_000;

/**
 * Adds linked sources to a store of blobs: a small blob beside the key of the source says where the file is. Readers see
 * no difference; a deletion removes the link.
 */
export const withLinkedSources = async (
  options: LinkedSourcesOptions,
): Promise<{ readonly blobs: BlobStore; readonly linked: LinkedSources }> => {
  const { blobs, places, clientOf, dir, maxLocalBytes, logger } = options;
  const isAllowed = (object: BucketObject): boolean => places.some((place) => isInPlace(object, place));
  const links = new LRUCache<string, SourceLink>({ max: MAX_LINKS });

  const linkOf = async (key: string): Promise<SourceLink | undefined> => {
    if (!isSourceKey(key)) return undefined;
    const known = links.get(key);
    if (known) return known;
    const text = await readBlob(blobs, sourceLinkKey(key));
    const link = text && (JSON.parse(text.toString()) as SourceLink);
    if (!link) return undefined;
    if (!isAllowed(link)) {
      logger.warn({ bucket: link.bucket, key: link.key }, 'linked source is outside KINORA_SOURCE_BUCKETS');
      return undefined;
    }
    links.set(key, link);
    return link;
  };
  /** Reads of the linked version only. @throws KinoraError `not_found` when there is another one, or none */
  const pinned = {
    stat: async (key: string) => linkOf(key),
    open: async (key: string, range: { start: number; end?: number }, { signal }: { signal?: AbortSignal } = {}) => {
      const link = await linkOf(key);
      if (!link) return undefined;
      const { bucket, etag, sizeBytes } = link;
      const client = await clientOf(bucket);
      const gone = (reason: string): KinoraError => {
        logger.warn({ bucket, key: link.key, reason }, 'linked source can no longer be read');
        return new KinoraError('not_found', { details: { stage: LINKED_SOURCE, bucket, key: link.key, reason } });
      };
      try {
        const object = await client.open(link.key, range, { etag, ...(signal && { signal }) });
        if (!object) throw gone('the object was deleted');
        return { ...object, wholeBytes: sizeBytes };
      } catch (error) {
        if (isKinoraError(error) && error.details?.status === 412) throw gone('the object was replaced');
        throw error;
      }
    },
  };
  const copies = await createLocalCopies({ objects: pinned, dir, maxBytes: maxLocalBytes });
  const linkedBlobs: BlobStore = {
    ...blobs,
    // Readers must say which bytes they need.
    isLocal: false,
    stat: async (key) => (await blobs.stat(key)) ?? (await linkOf(key)),
    read: async (key, range = { start: 0 }) => {
      const stored = await blobs.read(key, range);
      if (stored || !(await linkOf(key))) return stored;
      const object = await pinned.open(key, range);
      return object && Readable.from(object.chunks, { objectMode: false });
    },
    openLocal: async (key, needed) => {
      if (links.has(key)) return copies.open(key, needed);
      try {
        return await blobs.openLocal(key, needed);
      } catch (error) {
        if (!isKinoraError(error, 'not_found') || !(await linkOf(key))) throw error;
        return copies.open(key, needed);
      }
    },
    deletePrefix: async (prefix) => {
      await blobs.deletePrefix(prefix);
      const isBelow = (key: string): boolean => key.startsWith(`${prefix}/`);
      for (const key of [...links.keys()].filter(isBelow)) links.delete(key);
      await copies.forget(isBelow);
    },
  };
  return {
    blobs: linkedBlobs,
    linked: {
      find: async (object) => {
        if (isAllowed(object)) return (await clientOf(object.bucket)).stat(object.key);
        throw new KinoraError('invalid_input', {
          messages: ['The input file is not in a bucket that KINORA_SOURCE_BUCKETS names.'],
        });
      },
      link: async (key, link) => {
        await blobs.put(sourceLinkKey(key), Buffer.from(JSON.stringify(link)));
        links.set(key, link);
      },
    },
  };
};
