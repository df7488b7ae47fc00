import type { Readable } from 'node:stream';
import type { ByteRanges } from '../lib/byte-ranges.js';
import { isKinoraError } from '../lib/errors.js';
import type {
  BlobInfo,
  BlobStore,
  BlobWrite,
  LocalBlob,
  LocalWrite,
  Mismatch,
  RangeBlobStore,
  RangeOrigin,
  RangeSource,
} from './blob-store.js';
import { endedSource, StagedRangeSource } from './range-source.js';

/**
 * A blob store that also reads sources which are not stored yet. Everything else is left to
 * `blobs`.
 */
export class RangeStore implements RangeBlobStore {
  readonly isLocal: boolean;
  readonly resumeShared: BlobStore['resumeShared'];
  readonly discardShared: BlobStore['discardShared'];
  readonly list: BlobStore['list'];
  readonly abortUploads: BlobStore['abortUploads'];
  private readonly sources = new Map<string, StagedRangeSource>();
  private lastVersion = 0;

  constructor(private readonly blobs: BlobStore) {
    this.isLocal = blobs.isLocal;
    this.resumeShared = blobs.resumeShared?.bind(blobs);
    this.discardShared = blobs.discardShared?.bind(blobs);
    this.list = blobs.list?.bind(blobs);
    this.abortUploads = blobs.abortUploads?.bind(blobs);
  }

  async openLocal(key: string, needed?: ByteRanges): Promise<LocalBlob> {
    const source = this.sources.get(key);
    if (!source) return this.blobs.openLocal(key, needed);
    const opened = await source.open(needed ?? []);
    if (opened) return opened;
    return this.blobs.openLocal(key, needed).catch((error: unknown) => {
      throw isKinoraError(error, 'not_found') ? endedSource() : error;
    });
  }

  async openRanges(
    key: string,
    write: BlobWrite,
    origin: RangeOrigin,
    onMismatch: (mismatch: Mismatch) => Promise<void> = async () => {},
  ): Promise<RangeSource> {
    const staged = await write.stage(origin.growsAtEnd ? write.offsetBytes : origin.sizeBytes);
    this.lastVersion += 1;
    const onEnded = (): void => {
      // Another one may have taken its place.
      if (this.sources.get(key) === source) this.sources.delete(key);
    };
    const source = new StagedRangeSource({ staged, version: this.lastVersion, write, origin, onMismatch, onEnded });
    this.sources.set(key, source);
    return source;
  }

  resumeWrite(key: string): Promise<LocalWrite> {
    return this.blobs.resumeWrite(key);
  }

  put(key: string, bytes: Uint8Array): Promise<void> {
    return this.blobs.put(key, bytes);
  }

  read(key: string, range?: { start: number; end?: number }): Promise<Readable | undefined> {
    return this.blobs.read(key, range);
  }

  stat(key: string): Promise<BlobInfo | undefined> {
    return this.blobs.stat(key);
  }

  delete(key: string): Promise<void> {
    return this.blobs.delete(key);
  }

  deletePrefix(prefix: string): Promise<void> {
    return this.blobs.deletePrefix(prefix);
  }

  discardUnfinished(prefix: string): Promise<void> {
    return this.blobs.discardUnfinished(prefix);
  }

  sweepUnfinished(needed: ReadonlySet<string>): Promise<number> {
    return this.blobs.sweepUnfinished(needed);
  }
}
