import { throwIfAborted } from '../lib/abort.js';
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

/** Blocks with a gap of at most this many blocks between them are fetched by one request, including the gap. */
const MAX_GAP_BLOCKS = 2;
/** Limits the size of a request, so that long ranges are fetched over several connections. */
const MAX_REQUEST_BLOCKS = 16;
const MAX_REQUESTS = 4;

/** Extends `blobs` with sources that are still at their origin. */
export const createRangeBlobStore = (blobs: BlobStore): RangeBlobStore => {
  const sources = new Map<string, ReturnType<typeof createRangeSource>>();
  let version = 0;
  return {
    ...blobs,
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
      const staged = await target.stage(origin.sizeBytes);
      version += 1;
      const onClosed = () => sources.delete(key);
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
  const blocks = new Map<number, 'present' | Promise<void>>();
  const stopped = new AbortController();
  const leases = new Set<Promise<void>>();
  let opening: ByteRange[] = [];
  let ended: Promise<unknown> | undefined;
  let fetchedBytes = 0;
  /** Those under way. */
  let requests = 0;
  let begunRequests = 0;
  /** Waiting downloads and requests, woken whenever a request ends. */
  let wake: (() => void)[] = [];
  /** The last write of the download. */
  let writing: Promise<void> = Promise.resolve();

  const isPresent = (block: number): boolean =>
    blocks.get(block) === 'present' || Math.min((block + 1) * BLOCK_BYTES, origin.sizeBytes) <= staged.readableBytes;

  const untilRequestEnds = (): Promise<void> => new Promise((resolve) => wake.push(resolve));
  const untilNoRequests = async (): Promise<void> => {
    while (requests > 0) await untilRequestEnds();
  };

  const fetchBlocks = async (first: number, end: number): Promise<void> => {
    while (requests >= MAX_REQUESTS) await untilRequestEnds();
    throwIfAborted(stopped.signal);
    requests += 1;
    begunRequests += 1;
    try {
      // From here on the download waits. What it has stored is never replaced.
      await writing.catch(() => undefined);
      await staged.flush();
      let at = Math.max(first * BLOCK_BYTES, staged.readableBytes);
      const range = { start: at, end: Math.min(end * BLOCK_BYTES, origin.sizeBytes) };
      for await (const chunk of at < range.end ? origin.read(range, stopped.signal) : []) {
        await staged.put(at, chunk);
        at += chunk.length;
        fetchedBytes += chunk.length;
      }
      for (let block = first; block < end; block += 1) blocks.set(block, 'present');
    } finally {
      requests -= 1;
      const waiting = wake;
      wake = [];
      for (const resume of waiting) resume();
    }
  };

  /** The blocks of `ranges` that are not yet requested, in runs of one request each. */
  const missingRuns = (ranges: ByteRanges): [number, number][] => {
    const runs: [number, number][] = [];
    for (const { start, end } of ranges) {
      for (let block = Math.floor(start / BLOCK_BYTES); block * BLOCK_BYTES < end; block += 1) {
        if (blocks.has(block) || isPresent(block)) continue;
        const last = runs.at(-1);
        if (last && block < last[1]) continue;
        const joins = last && block - last[1] <= MAX_GAP_BLOCKS && block - last[0] < MAX_REQUEST_BLOCKS;
        const free =
          joins && Array.from({ length: block - last[1] }, (_, at) => last[1] + at).every((at) => !blocks.has(at));
        if (joins && free) last[1] = block + 1;
        else runs.push([block, block + 1]);
      }
    }
    return runs;
  };

  const bring = async (ranges: ByteRanges): Promise<void> => {
    for (const [first, end] of missingRuns(ranges)) {
      const fetching = fetchBlocks(first, end);
      for (let block = first; block < end; block += 1) blocks.set(block, fetching);
      fetching.catch(() => {
        for (let block = first; block < end; block += 1) blocks.delete(block);
      });
    }
    const awaited = new Set<Promise<void>>();
    for (const { start, end } of ranges) {
      for (let block = Math.floor(start / BLOCK_BYTES); block * BLOCK_BYTES < end; block += 1) {
        const state = blocks.get(block);
        if (state && state !== 'present') awaited.add(state);
      }
    }
    await Promise.all(awaited);
  };

  const widen = (ranges: ByteRanges): ByteRange[] =>
    mergeRanges(
      ranges.map(({ start, end }) => ({
        start: Math.max(Math.floor(start / BLOCK_BYTES), 0) * BLOCK_BYTES,
        end: Math.min(Math.ceil(end / BLOCK_BYTES) * BLOCK_BYTES, origin.sizeBytes),
      })),
    );

  /** Undefined when the source has been closed; the blob may be stored by then. */
  const open = async (needed: ByteRanges): Promise<LocalBlob | undefined> => {
    if (ended) {
      await ended.catch(() => undefined);
      return undefined;
    }
    const ranges = widen([...opening, ...needed]);
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
      await bring(ranges);
      return { path: staged.path, staged: { ranges, version }, release };
    } catch (error) {
      await release();
      throw ended ? refused() : error;
    }
  };

  /** Runs `finish` after all readers have finished. Readers that arrive in the meantime wait until it ends. */
  const endWith = <T>(finish: () => Promise<T>): Promise<T> => {
    if (ended) return ended.catch(() => undefined).then(finish);
    stopped.abort();
    const ending = Promise.allSettled(leases).then(untilNoRequests).then(finish);
    ended = ending.finally(onClosed);
    ended.catch(() => undefined);
    return ending;
  };

  /** Whether the next bytes of the download differ from a part that was fetched. */
  const differs = async (chunk: Uint8Array): Promise<boolean> => {
    const start = write.offsetBytes;
    const end = start + chunk.length;
    for (let block = Math.floor(start / BLOCK_BYTES); block * BLOCK_BYTES < end; block += 1) {
      if (blocks.get(block) !== 'present') continue;
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
        await untilNoRequests();
        comparedAfter = begunRequests;
        if (!ended && (await differs(chunk))) await onDoubt('differs');
        // Nobody may read other bytes in its place any more.
        await ended?.catch(() => undefined);
      } while (requests > 0 || begunRequests > comparedAfter);
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
    commit: () => endWith(() => write.commit()),
    suspend: () => endWith(() => write.suspend()),
    discard: () => endWith(() => write.discard()),
  };

  return {
    sizeBytes: origin.sizeBytes,
    get fetchedBytes() {
      return fetchedBytes;
    },
    keepOpening: (ranges) => {
      opening = mergeRanges([...opening, ...ranges]);
    },
    target,
    open,
    close: () => endWith(async () => undefined),
  };
};
