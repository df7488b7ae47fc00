import { Readable } from 'node:stream';
import { LRUCache } from 'lru-cache';
import { type BucketObject, type BucketPath, isUnderPath } from '../../lib/bucket-url.js';
import type { ByteRanges } from '../../lib/byte-ranges.js';
import { isKinoraError, KinoraError } from '../../lib/errors.js';
import type { Logger } from '../../telemetry/logger.js';
import {
  type BlobInfo,
  type BlobStore,
  LINKED_SOURCE,
  type LinkedSources,
  type LocalBlob,
  type LocalWrite,
  readBlob,
  type SourceLink,
} from '../blob-store.js';
import { isSourceKey, sourceLinkKey } from '../keys.js';
import { LocalCopies } from './local-copies.js';
import type { CopiedObjects } from './local-copy.js';
import type { ObjectInfo, OpenObject } from './object-client.js';

interface LinkedSourceOptions {
  readonly blobs: BlobStore;
  /** The only paths whose objects are opened, whatever asks for them. */
  readonly allowedPaths: readonly BucketPath[];
  readonly clientOf: (bucket: string) => Promise<CopiedObjects>;
  /** For parts of linked sources. */
  readonly dir: string;
  readonly maxLocalBytes: number;
  readonly logger: Logger;
}

const MAX_LINKS = 10_000;

/**
 * Adds linked sources to a store of blobs: a small blob beside the key of the source says where the
 * file is. Readers see no difference; a deletion removes the link.
 */
export class LinkedSourceStore implements BlobStore, LinkedSources {
  /** Readers must say which bytes they need. */
  readonly isLocal = false;
  readonly resumeShared: BlobStore['resumeShared'];
  readonly discardShared: BlobStore['discardShared'];
  readonly list: BlobStore['list'];
  readonly abortUploads: BlobStore['abortUploads'];
  readonly #blobs: BlobStore;
  readonly #links: LinkReader;
  readonly #copies: LocalCopies;

  private constructor(blobs: BlobStore, links: LinkReader, copies: LocalCopies) {
    this.#blobs = blobs;
    this.#links = links;
    this.#copies = copies;
    this.resumeShared = blobs.resumeShared?.bind(blobs);
    this.discardShared = blobs.discardShared?.bind(blobs);
    this.list = blobs.list?.bind(blobs);
    this.abortUploads = blobs.abortUploads?.bind(blobs);
  }

  static async open(options: LinkedSourceOptions): Promise<LinkedSourceStore> {
    const links = new LinkReader(options);
    const copies = await LocalCopies.open({ objects: links, dir: options.dir, maxBytes: options.maxLocalBytes });
    return new LinkedSourceStore(options.blobs, links, copies);
  }

  find(object: BucketObject): Promise<ObjectInfo | undefined> {
    return this.#links.find(object);
  }

  async link(key: string, link: SourceLink): Promise<void> {
    await this.#blobs.put(sourceLinkKey(key), Buffer.from(JSON.stringify(link)));
    this.#links.remember(key, link);
  }

  async stat(key: string): Promise<BlobInfo | undefined> {
    return (await this.#blobs.stat(key)) ?? (await this.#links.stat(key));
  }

  async read(key: string, range: { start: number; end?: number } = { start: 0 }): Promise<Readable | undefined> {
    const stored = await this.#blobs.read(key, range);
    if (stored || !(await this.#links.stat(key))) return stored;
    const object = await this.#links.open(key, range);
    return object && Readable.from(object.chunks, { objectMode: false });
  }

  async openLocal(key: string, needed?: ByteRanges): Promise<LocalBlob> {
    if (this.#links.isKnown(key)) return this.#copies.open(key, needed);
    try {
      return await this.#blobs.openLocal(key, needed);
    } catch (error) {
      if (!isKinoraError(error, 'not_found') || !(await this.#links.stat(key))) throw error;
      return this.#copies.open(key, needed);
    }
  }

  async deletePrefix(prefix: string): Promise<void> {
    await this.#blobs.deletePrefix(prefix);
    const isBelow = (key: string): boolean => key.startsWith(`${prefix}/`);
    this.#links.forget(isBelow);
    await this.#copies.forget(isBelow);
  }

  // The rest is that of the store.

  resumeWrite(key: string): Promise<LocalWrite> {
    return this.#blobs.resumeWrite(key);
  }

  put(key: string, bytes: Uint8Array): Promise<void> {
    return this.#blobs.put(key, bytes);
  }

  delete(key: string): Promise<void> {
    return this.#blobs.delete(key);
  }

  discardUnfinished(prefix: string): Promise<void> {
    return this.#blobs.discardUnfinished(prefix);
  }

  sweepUnfinished(needed: ReadonlySet<string>): Promise<number> {
    return this.#blobs.sweepUnfinished(needed);
  }
}

/** Reads the linked version of objects only. */
class LinkReader implements CopiedObjects {
  readonly #options: Pick<LinkedSourceOptions, 'blobs' | 'allowedPaths' | 'clientOf' | 'logger'>;
  readonly #links = new LRUCache<string, SourceLink>({ max: MAX_LINKS });

  constructor(options: Pick<LinkedSourceOptions, 'blobs' | 'allowedPaths' | 'clientOf' | 'logger'>) {
    this.#options = options;
  }

  isKnown(key: string): boolean {
    return this.#links.has(key);
  }

  remember(key: string, link: SourceLink): void {
    this.#links.set(key, link);
  }

  forget(matches: (key: string) => boolean): void {
    for (const key of [...this.#links.keys()].filter(matches)) this.#links.delete(key);
  }

  /** The object as it is now. @throws KinoraError `invalid_input`, `unavailable` */
  async find(object: BucketObject): Promise<ObjectInfo | undefined> {
    if (this.#isAllowed(object)) return (await this.#options.clientOf(object.bucket)).stat(object.key);
    throw new KinoraError('invalid_input', {
      messages: ['The input file is not in a bucket that KINORA_SOURCE_BUCKETS names.'],
    });
  }

  /** The link of a key, if it has one. */
  async stat(key: string): Promise<SourceLink | undefined> {
    if (!isSourceKey(key)) return undefined;
    const sourceLink = this.#links.get(key);
    if (sourceLink) return sourceLink;
    const text = await readBlob(this.#options.blobs, sourceLinkKey(key));
    const link = text && (JSON.parse(text.toString()) as SourceLink);
    if (!link) return undefined;
    if (!this.#isAllowed(link)) {
      const fields = { bucket: link.bucket, key: link.key };
      this.#options.logger.warn(fields, 'linked source is outside KINORA_SOURCE_BUCKETS');
      return undefined;
    }
    this.#links.set(key, link);
    return link;
  }

  /** @throws KinoraError `not_found` when there is another version, or none; `unavailable` */
  async open(
    key: string,
    range: { readonly start: number; readonly end?: number },
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<OpenObject | undefined> {
    const link = await this.stat(key);
    if (!link) return undefined;
    const client = await this.#options.clientOf(link.bucket);
    try {
      const object = await client.open(link.key, range, { etag: link.etag, signal });
      if (!object) throw this.#gone(link, 'the object was deleted');
      return { ...object, wholeBytes: link.sizeBytes };
    } catch (error) {
      if (isKinoraError(error) && error.details?.status === 412) throw this.#gone(link, 'the object was replaced');
      throw error;
    }
  }

  #isAllowed(object: BucketObject): boolean {
    return this.#options.allowedPaths.some((path) => isUnderPath(object, path));
  }

  #gone({ bucket, key }: SourceLink, reason: string): KinoraError {
    this.#options.logger.warn({ bucket, key, reason }, 'linked source can no longer be read');
    return new KinoraError('not_found', { details: { stage: LINKED_SOURCE, bucket, key, reason } });
  }
}
