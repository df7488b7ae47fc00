import { type ByteRange, type ByteRanges, mergeRanges } from '../lib/byte-ranges.js';
import { isKinoraError, KinoraError } from '../lib/errors.js';
import {
  BLOCK_BYTES,
  type BlobStore,
  type BlobWrite,
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
    openRanges: async (key, target, origin) => {
      const staged = await target.stage(origin.sizeBytes);
      const source = createRangeSource(staged, target, origin, () => sources.delete(key));
      sources.set(key, source);
      return source;
    },
  };
};

const refused = (): KinoraError =>
  new KinoraError('unavailable', {
    details: { reason: 'the source is not stored yet and can no longer be read by ranges' },
  });

const createRangeSource = (
  staged: StagedFile,
  write: BlobWrite,
  origin: RangeOrigin,
  onClosed: () => void,
): RangeSource & { open(needed: ByteRanges): Promise<LocalBlob | undefined> } => {
  const blocks = new Map<number, 'present' | Promise<void>>();
  const stopped = new AbortController();
  const leases = new Set<Promise<void>>();
  let opening: ByteRange[] = [];
  let ended: Promise<unknown> | undefined;
  let fetchedBytes = 0;
  let requests = 0;
  /** Waiting downloads and requests, woken whenever a request ends. */
  let wake: (() => void)[] = [];

  const isPresent = (block: number): boolean =>
    blocks.get(block) === 'present' || Math.min((block + 1) * BLOCK_BYTES, origin.sizeBytes) <= staged.readableBytes;

  const untilRequestEnds = (): Promise<void> => new Promise((resolve) => wake.push(resolve));

  const fetchBlocks = async (first: number, end: number): Promise<void> => {
    while (requests >= MAX_REQUESTS) await untilRequestEnds();
    requests += 1;
    try {
      const range = { start: first * BLOCK_BYTES, end: Math.min(end * BLOCK_BYTES, origin.sizeBytes) };
      let at = range.start;
      for await (const chunk of origin.read(range, stopped.signal)) {
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
      return { path: staged.path, staged: ranges, release };
    } catch (error) {
      await release();
      throw ended ? refused() : error;
    }
  };

  /** Runs `finish` after all readers have finished. Readers that arrive in the meantime wait until it ends. */
  const endWith = <T>(finish: () => Promise<T>): Promise<T> => {
    if (ended) return ended.catch(() => undefined).then(finish);
    stopped.abort();
    const ending = Promise.allSettled(leases).then(finish);
    ended = ending.finally(onClosed);
    ended.catch(() => undefined);
    return ending;
  };

  const target: BlobWrite = {
    get offsetBytes() {
      return write.offsetBytes;
    },
    write: async (chunk) => {
      while (requests > 0 && !ended) await untilRequestEnds();
      await write.write(chunk);
    },
    stage: (sizeBytes) => write.stage(sizeBytes),
    sync: () => write.sync(),
    read: (offset, length) => write.read(offset, length),
    restart: () => endWith(() => write.restart()),
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
