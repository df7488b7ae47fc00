import { type ByteRange, type ByteRanges, mergeRanges } from '../lib/byte-ranges.js';
import { isKinoraError, KinoraError } from '../lib/errors.js';
import {
  BLOCK_BYTES,
  type BlobStore,
  type BlobWrite,
  type Doubt,
  type LocalBlob,
  type RangeBlobStore,
  type RangeOrigin,
  type RangeSource,
  type StagedFile,
} from './blob-store.js';
import { createBlockFetcher } from './block-fetcher.js';

/** Extends `blobs` with sources that are still at their origin. */
export const createRangeBlobStore = (blobs: BlobStore): RangeBlobStore => {
  const sources = new Map<string, ReturnType<typeof createRangeSource>>();
  let version = 0;
  return {
    isLocal: blobs.isLocal,
    resumeShared: blobs.resumeShared?.bind(blobs),
    discardShared: blobs.discardShared?.bind(blobs),
    resumeWrite: (key) => blobs.resumeWrite(key),
    put: (key, bytes) => blobs.put(key, bytes),
    read: (key, range) => blobs.read(key, range),
    stat: (key) => blobs.stat(key),
    delete: (key) => blobs.delete(key),
    deletePrefix: (prefix) => blobs.deletePrefix(prefix),
    discardUnfinished: (prefix) => blobs.discardUnfinished(prefix),
    sweepUnfinished: (needed) => blobs.sweepUnfinished(needed),
    openLocal: async (key, needed) => {
      const source = sources.get(key);
      if (!source) return blobs.openLocal(key, needed);
      const opened = await source.open(needed ?? []);
      if (opened) return opened;
      return blobs.openLocal(key, needed).catch((error: unknown) => {
        throw isKinoraError(error, 'not_found') ? refused() : error;
      });
    },
    openRanges: async (key, target, origin, onDoubt = async () => {}) => {
      const staged = await target.stage(origin.growsAtEnd ? target.offsetBytes : origin.sizeBytes);
      version += 1;
      const onClosed = () => {
        // Another one may have taken its place.
        if (sources.get(key) === source) sources.delete(key);
      };
      const source = createRangeSource({ staged, version, write: target, origin, onDoubt, onClosed });
      sources.set(key, source);
      return source;
    },
  };
};

const refused = (): KinoraError =>
  new KinoraError('unavailable', {
    details: { reason: 'the source is not stored yet and can no longer be read by ranges' },
  });

interface RangeSourceParts {
  readonly staged: StagedFile;
  readonly version: number;
  readonly write: BlobWrite;
  readonly origin: RangeOrigin;
  readonly onDoubt: (doubt: Doubt) => Promise<void>;
  readonly onClosed: () => void;
}

const createRangeSource = ({
  staged,
  version,
  write,
  origin,
  onDoubt,
  onClosed,
}: RangeSourceParts): RangeSource & { open(needed: ByteRanges): Promise<LocalBlob | undefined> } => {
  const stopped = new AbortController();
  const leases = new Set<Promise<void>>();
  let opening: ByteRange[] = [];
  let ended: Promise<unknown> | undefined;
  /** The last write of the download. */
  let writing: Promise<void> = Promise.resolve();
  const blocks = createBlockFetcher({
    blockBytes: BLOCK_BYTES,
    origin,
    signal: stopped.signal,
    readableBytes: () => staged.readableBytes,
    begin: async () => {
      // From here on the download waits. What it has stored is never replaced.
      await writing.catch(() => undefined);
      await staged.flush();
    },
    put: (offset, chunk) => staged.put(offset, chunk),
  });

  /** Undefined when the source has been closed; the blob may be stored by then. */
  const open = async (needed: ByteRanges): Promise<LocalBlob | undefined> => {
    if (ended) {
      await ended.catch(() => undefined);
      return undefined;
    }
    const ranges = blocks.widen([...opening, ...needed]);
    let end!: () => void;
    const lease = new Promise<void>((resolve) => {
      end = resolve;
    });
    leases.add(lease);
    const release = async (): Promise<void> => {
      leases.delete(lease);
      end();
    };
    try {
      await blocks.bring(ranges);
      return { path: staged.path, staged: { ranges, version }, release };
    } catch (error) {
      await release();
      throw ended ? refused() : error;
    }
  };

  /** Runs `finish` after all readers have finished. Readers that arrive in the meantime wait until it ends. */
  const endWith = <T>(finish: () => Promise<T>, waitsForReaders = true): Promise<T> => {
    if (ended) return ended.catch(() => undefined).then(finish);
    stopped.abort();
    const noReaders = Promise.allSettled(leases);
    const ending = (waitsForReaders ? noReaders : Promise.resolve()).then(() => blocks.untilNoRequests()).then(finish);
    ended = ending.finally(onClosed);
    Promise.allSettled([ended, noReaders])
      .then(() => staged.release())
      .catch(() => undefined);
    return ending;
  };

  /** Whether the next bytes of the download differ from a part that was fetched. */
  const differs = async (chunk: Uint8Array): Promise<boolean> => {
    const start = write.offsetBytes;
    const end = start + chunk.length;
    for (let block = Math.floor(start / BLOCK_BYTES); block * BLOCK_BYTES < end; block += 1) {
      if (!blocks.isFetched(block)) continue;
      const from = Math.max(start, block * BLOCK_BYTES);
      const until = Math.min(end, (block + 1) * BLOCK_BYTES);
      const part = await staged.read(from, until - from);
      if (Buffer.compare(part, chunk.subarray(from - start, until - start)) !== 0) return true;
    }
    return false;
  };
  const target: BlobWrite = {
    get offsetBytes() {
      return write.offsetBytes;
    },
    write: async (chunk) => {
      let comparedAfter: number;
      do {
        await blocks.untilNoRequests();
        comparedAfter = blocks.begunRequests;
        if (!ended && (await differs(chunk))) await onDoubt('differs');
        // Nobody may read other bytes in its place any more.
        await ended?.catch(() => undefined);
      } while (blocks.requests > 0 || blocks.begunRequests > comparedAfter);
      // Nothing is awaited since the check: a part that is fetched in between would not be compared.
      writing = write.write(chunk);
      await writing;
    },
    stage: (sizeBytes) => write.stage(sizeBytes),
    sync: () => write.sync(),
    read: (offset, length) => write.read(offset, length),
    restart: async () => {
      if (!ended) await onDoubt('restarts');
      await endWith(() => write.restart());
    },
    commit: () => {
      const end = () => endWith(() => write.commit(), !staged.outlivesCommit);
      return write.settle ? write.settle().then(end) : end();
    },
    suspend: () => endWith(() => write.suspend()),
    discard: () => endWith(() => write.discard()),
  };

  return {
    sizeBytes: origin.sizeBytes,
    get fetchedBytes() {
      return blocks.fetchedBytes;
    },
    keepOpening: (ranges) => {
      opening = mergeRanges([...opening, ...ranges]);
    },
    target,
    open,
    close: () => endWith(async () => undefined),
  };
};
